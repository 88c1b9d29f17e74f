"""What is known of models, and the request that each family gets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agent_core.agent.shaping import Shaping
from agent_core.config.settings import EFFORTS
from agent_core.errors import ConfigError, UsageError
from agent_core.model.capabilities import ModelBook, Stated, family_of, plain_name
from agent_core.model.families import FAMILIES, OWN
from agent_core.model.port import Items
from agent_core.telemetry.rollup.prices import LIST_PRICES
from agent_core.tools.standard import standard_toolbox
from agent_core.tools.workspace.workspace import Workspace
from agent_core.turns.options import TurnOptions

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "model_requests.json"


def test_the_table_knows_the_families_that_people_use_and_says_where_from() -> None:
    makers = {row.provider for row in FAMILIES}
    assert {"openai", "anthropic", "google", "deepseek", "qwen", "moonshot", "zai", "mistral", "meta", "xai"} <= makers
    for row in FAMILIES:
        assert row.source.startswith("https://") and row.names, row.family
        assert list(row.efforts) == sorted(row.efforts, key=EFFORTS.index), row.family
        assert row.reasoning or not row.efforts, row.family
        assert all(name == plain_name(name) for name in row.names), row.family


@pytest.mark.parametrize("row", [*FAMILIES, *OWN], ids=lambda row: row.family)
def test_no_row_hides_behind_one_before_it(row: Any) -> None:
    assert all(family_of(name) == row for name in row.names)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-5-2025-08-07", "gpt-5"),
        ("openai/gpt-5.1-codex-max", "gpt-5.1 codex max"),
        ("anthropic/claude-sonnet-4.5:beta", "Claude"),
        ("claude-opus-4-6-20260205", "Claude with effort"),
        ("models/gemini-2.5-pro", "Gemini 2.5"),
        ("qwen3:30b-a3b", "Qwen 3"),
        ("meta-llama/Llama-3.3-70B-Instruct", "Llama 3"),
        ("scripted:slow", "scripted"),
        ("my-own-model", ""),
    ],
)
def test_a_model_is_known_under_the_names_that_providers_give_it(model: str, family: str) -> None:
    assert ModelBook().of(model).family == family


def test_effort_that_a_model_does_not_take_is_refused_with_what_it_takes() -> None:
    with pytest.raises(UsageError, match="takes no effort 'minimal'") as refused:
        ModelBook().of("gpt-5.1").check_effort("minimal")
    assert refused.value.code == "effort_unsupported" and "none, low, medium, high" in (refused.value.hint or "")
    with pytest.raises(UsageError, match="repair takes no effort"):
        ModelBook().of("repair").check_effort("low")
    ModelBook().of("my-own-model").check_effort("xhigh")  # nobody knows, so the service may say


def test_effort_of_the_settings_is_sent_where_it_is_taken_and_else_not() -> None:
    book = ModelBook()
    assert book.of("gpt-5").reasoning_fields("high", summary=True) == {"effort": "high", "summary": "auto"}
    assert book.of("gpt-5").reasoning_fields("xhigh", summary=False) == {}
    assert book.of("deepseek-chat").reasoning_fields("high", summary=True) == {}
    assert book.of("my-own-model").reasoning_fields(None, summary=True) == {}


def test_the_users_own_word_wins_over_the_services_and_that_over_the_table() -> None:
    book = ModelBook({"gpt-5": {"effort": "low", "efforts": ["low"], "context_tokens": 1000}})
    book.state("gpt-5", Stated(context_tokens=5000, images=False))
    found = book.of("gpt-5")
    assert (found.context_tokens, found.images, found.efforts) == (1000, False, ("low",))
    assert found.reasoning_fields(None, summary=False) == {"effort": "low"}
    assert found.compact_at(160_000) == 800 and found.compact_at(0) == 0
    assert ModelBook().of("my-own-model").compact_at(160_000) == 160_000


@pytest.mark.parametrize("table", [{"efort": "low"}, {"effort": "huge"}, {"context_tokens": "many"}])
def test_a_table_that_cannot_be_read_is_named(table: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as refused:
        ModelBook({"gpt-5": table})
    assert refused.value.key == "models.gpt-5"


MODELS = (
    "gpt-5", "gpt-5.1", "gpt-5.3-codex", "gpt-5.5", "o3", "gpt-4.1", "gpt-oss-120b", "claude-opus-4-7",
    "claude-haiku-4-5", "gemini-3-flash-preview", "gemini-2.5-pro", "deepseek-chat", "deepseek-reasoner",
    "qwen3-coder-plus", "kimi-k2.6", "kimi-k3", "glm-4.6", "glm-5.2", "mistral-medium-latest", "codestral-latest",
    "llama-3.3-70b", "grok-4", "repair", "scripted", "my-own-model",
)  # fmt: skip


def _request(model: str, folder: Path) -> dict[str, Any]:
    """What of a create depends on the model, asked with effort high at OpenAI's own service."""
    toolbox = standard_toolbox(Workspace([folder]), environment={"PATH": ""})
    book = ModelBook(free_form=True)
    shaping = Shaping(
        model=model, instructions="", items=Items(), toolbox=toolbox, options={}, book=book, effort="high", summary=True
    )  # fmt: skip
    plain, plan = TurnOptions(), TurnOptions(mode="plan")
    request = shaping.request(plain, shaping.offer(plain))
    tools = [(tool["type"], tool["name"]) for tool in json.loads(request.tools)]
    known = book.of(model)
    return {
        "options": dict(request.options),
        "edits_by": next(f"{kind} {name}" for kind, name in tools if "patch" in name),
        "plan_mode": [tool["name"] for tool in json.loads(shaping.request(plan, shaping.offer(plan)).tools)],
        "compacts_at": known.compact_at(160_000),
        "images": known.images,
        "priced": LIST_PRICES.knows(plain_name(model)),
    }


def test_the_request_that_each_family_gets(tmp_path: Path) -> None:
    """After a change that is meant: write `found` into the file, and look at the difference."""
    found = {model: _request(model, tmp_path) for model in MODELS}
    assert len({family_of(model) for model in MODELS if family_of(model)} & set(FAMILIES)) >= 12
    assert found == json.loads(GOLDEN.read_text())


def test_names_in_the_table_hold_no_secrets_of_a_pattern() -> None:
    assert all(re.fullmatch(r"[a-z0-9.-]+", name) for row in (*FAMILIES, *OWN) for name in row.names)
