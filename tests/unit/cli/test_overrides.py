"""`--set KEY=VALUE`: what a pair means, and that a wrong one is told."""

from __future__ import annotations

from typing import Any

import pytest

from agent_core.cli.overrides import read_overrides
from agent_core.config.load import load
from agent_core.errors import ConfigError, UsageError


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        ([], {}),
        (["effort=high"], {"effort": "high"}),
        (['model="m=1"', "model = other "], {"model": "other"}),
        (["websocket_share=0.5"], {"websocket_share": 0.5}),
        (['deny=["rm"]'], {"deny": ["rm"]}),
        (["model=a\nbase_url = 'http://x'"], {"model": "a\nbase_url = 'http://x'"}),
        (["model=" + "[" * 5_000], {"model": "[" * 5_000}),
        (
            ["providers.mine.base_url=http://127.0.0.1:1/v1", "providers.mine.wire=chat"],
            {"providers": {"mine": {"base_url": "http://127.0.0.1:1/v1", "wire": "chat"}}},
        ),
    ],
)
def test_values_are_toml_or_text(pairs: list[str], found: dict[str, Any]) -> None:
    assert read_overrides(pairs) == found


@pytest.mark.parametrize("pair", ["", "effort", "=high", "no_such=1", "effortless=1"])
def test_a_pair_that_says_nothing_is_refused(pair: str) -> None:
    with pytest.raises(UsageError) as told:
        read_overrides([pair])
    assert told.value.exit_code == 2 and told.value.hint is not None


def test_settings_take_and_check_them() -> None:
    loaded = load(flags=read_overrides(["effort=high", "websocket_share=0.25"]), env={})
    assert (loaded.settings.effort, loaded.settings.websocket_share) == ("high", 0.25)
    assert loaded.origins["effort"].layer == "flag"
    with pytest.raises(ConfigError):
        load(flags=read_overrides(["effort=enormous"]), env={})
