"""Settings by table: what is decoded, what is refused and where. That all of them are known is shown over sockets."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agent_core.errors import WireError
from agent_core.responses_server.request.configuration import UNCHANGED
from agent_core.responses_server.request.options import INCLUDABLE, Settings, check_include, read_settings
from agent_core.wire.items import read_item
from agent_core.wire.requests import read_create_body


def settings(**fields: Any) -> Settings:
    return read_settings(read_create_body(msgspec.json.encode(fields)))


def test_defaults() -> None:
    assert settings() == Settings(
        text_format=None,
        verbosity=None,
        reasoning=None,
        compact_above=None,
        seal_reasoning=False,
        truncate=False,
        generate=True,
        store=True,
    )


def test_null_is_absent() -> None:
    nulls = {"reasoning": None, "text": None, "include": None, "truncation": None, "moderation": None, "metadata": None}
    assert settings(**nulls) == settings()
    assert settings(reasoning={"effort": None}, text={"format": None}).text_format is None


@pytest.mark.parametrize(
    ("entries", "above"),
    [
        ([], None),
        ([{"type": "compaction"}], 0),
        ([{"type": "compaction", "compact_threshold": 900}], 900),
        ([{"type": "compaction", "compact_threshold": 900}, {"type": "compaction", "compact_threshold": 500}], 500),
    ],
)
def test_where_compaction_sets_in(entries: list[Any], above: int | None) -> None:
    assert settings(context_management=entries).compact_above == above


@pytest.mark.parametrize(
    "edge", [{"temperature": 0}, {"temperature": 2}, {"top_p": 1.0}, {"metadata": {"k" * 64: "v" * 512}}]
)
def test_limits_belong_to_what_is_allowed(edge: dict[str, Any]) -> None:
    settings(**edge)


def test_the_message_says_what_is_expected() -> None:
    with pytest.raises(WireError) as caught:
        settings(reasoning={"effort": "huge"})
    assert caught.value.param == "reasoning.effort"
    assert "xhigh" in caught.value.message


def test_what_can_be_included() -> None:
    check_include(list(INCLUDABLE))
    assert settings(include=[INCLUDABLE[0]]).seal_reasoning
    with pytest.raises(WireError):
        check_include(["all"])


def test_updates_lie_over_the_requests_own_settings() -> None:
    def update(**fields: Any) -> Any:
        return read_item(msgspec.json.encode({"type": "configuration_update", **fields}))

    own = settings(reasoning={"effort": "low", "summary": "auto"}, text={"format": {"type": "json_object"}})
    assert UNCHANGED.over(own) is own
    after = UNCHANGED.behind([update(reasoning={"effort": "high"}), update(text={"format": {"type": "text"}})])
    assert after.over(own).reasoning == {"effort": "high", "summary": "auto"}
    assert after.over(own).text_format == {"type": "text"}
    later = after.behind([update(reasoning={"effort": "none"})])
    assert (later.effort, later.text_format) == ("none", {"type": "text"})
