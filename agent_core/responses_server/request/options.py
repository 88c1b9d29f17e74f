"""What each setting of a request means here: carried out, or refused with the setting's name. Nothing is dropped.

The tables hold the settings whose values can be judged by themselves; what depends on the model is in `offer.py`.
Source of names and values: openai-python `ResponseCreateParams`, Open Responses spec 2026-04-24.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from agent_core.errors import WireError
from agent_core.wire.bounds import MAX_ENTRIES, require_few, require_modest
from agent_core.wire.codec import plain, present
from agent_core.wire.requests import ResponseCreate

Rule = Callable[[Any], str | None]
"""Why a value (never None) can't be served; None if it can."""

METADATA_PAIRS, METADATA_KEY_CHARS, METADATA_VALUE_CHARS = 16, 64, 512

LOGPROBS = "message.output_text.logprobs"

INCLUDABLE = (
    "reasoning.encrypted_content",
    LOGPROBS,
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
)
"""The first is added to reasoning items, the second to text. The others are parts of input items, which are always kept
whole.
"""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The decoded settings that the pipeline acts on.

    `compact_above`: rendered tokens above which the context is compacted, 0 for "as the model's context demands", None
    for never. `seal_reasoning`: reasoning items carry their text in a form that can be sent back. `truncate`: drop the
    oldest items of a context that is too long. `generate` False: a warm-up. `top_logprobs`: alternatives to tell with
    each token's log probability, None where these were not asked for.
    """

    text_format: dict[str, Any] | None
    """Of the answer, as the client gave it; None: plain text."""
    verbosity: str | None
    """None: as the model likes."""
    reasoning: dict[str, Any] | None
    """`effort` and `summary` as the client gave them; None: not given."""
    compact_above: int | None
    seal_reasoning: bool
    truncate: bool
    generate: bool
    store: bool
    top_logprobs: int | None = None


def read_settings(create: ResponseCreate) -> Settings:
    """Raises WireError naming the first setting that can't be honoured."""
    for name, rule in _PLAIN.items():
        _judge(name, getattr(create, name), rule)
    nested = {name: _nested(create, name, rules) for name, rules in _NESTED.items()}
    for name in _UNSERVED:
        if present(getattr(create, name)):
            raise WireError(f"'{name}' is not served here.", param=name)
    text = nested["text"]
    check_text_format(text.get("format"), "text.format")
    return Settings(
        text_format=text.get("format"),
        verbosity=text.get("verbosity"),
        reasoning=nested["reasoning"] or None,
        compact_above=_compact_above(create),
        seal_reasoning=INCLUDABLE[0] in (create.include or ()),
        truncate=create.truncation == "auto",
        generate=create.generate is not False and nested["prompt_cache_options"].get("prewarm") is not True,
        store=create.store is not False,
        top_logprobs=create.top_logprobs or (0 if LOGPROBS in (create.include or ()) else None),
    )


def check_text_format(text_format: Any, path: str) -> None:
    """Raises WireError for a schema that is too large, or demands what nobody could make."""
    if isinstance(text_format, dict):
        require_modest(text_format.get("schema"), f"{path}.schema")


def check_include(names: list[str]) -> None:
    """Raises WireError for a name that can't be included."""
    _judge("include", names, _include)


def one_of(*allowed: str) -> Rule:
    return lambda value: None if value in allowed else f"expected one of {', '.join(allowed)}"


def between(low: float, high: float | None = None) -> Rule:
    def judge(value: Any) -> str | None:
        if value >= low and (high is None or value <= high):
            return None
        return f"expected a number from {low} to {high}" if high is not None else f"expected at least {low}"

    return judge


def refused(why: str) -> Rule:
    return lambda value: why


def _background(value: bool) -> str | None:
    return "background responses are not served here" if value else None


def _metadata(value: Mapping[str, str]) -> str | None:
    if len(value) > METADATA_PAIRS:
        return f"expected at most {METADATA_PAIRS} pairs"
    if any(len(key) > METADATA_KEY_CHARS or len(text) > METADATA_VALUE_CHARS for key, text in value.items()):
        return f"expected keys of at most {METADATA_KEY_CHARS} and values of at most {METADATA_VALUE_CHARS} characters"
    return None


def _include(value: list[str]) -> str | None:
    for name in value:
        if name not in INCLUDABLE:
            return f"expected some of {', '.join(INCLUDABLE)}"
    return None


_PLAIN: dict[str, Rule] = {
    "background": _background,
    "include": _include,
    "max_output_tokens": between(1),
    "max_tool_calls": between(1),
    "metadata": _metadata,
    "prompt_cache_retention": one_of("in_memory", "24h"),
    "service_tier": one_of("auto", "default", "flex", "scale", "priority", "fast", "ultrafast"),
    "temperature": between(0, 2),
    "top_logprobs": between(0, 20),
    "top_p": between(0, 1),
    "truncation": one_of("auto", "disabled"),
}
"""There is one tier and one cache, whichever is asked for; the response says which it was."""

_SUMMARIES = one_of("auto", "concise", "detailed")

_NESTED: dict[str, dict[str, Rule]] = {
    "reasoning": {
        "effort": one_of("none", "minimal", "low", "medium", "high", "xhigh", "max"),
        "summary": _SUMMARIES,
        "generate_summary": _SUMMARIES,
        "context": one_of("auto", "all_turns"),
        "mode": one_of("standard"),
    },
    "text": {"verbosity": one_of("low", "medium", "high")},
    "prompt_cache_options": {
        "mode": one_of("implicit"),
        "ttl": one_of("30m", "12h"),
        "comparison_response_id": refused("comparisons are not served here"),
    },
}

_UNSERVED = ("access_programs", "background_options", "conversation", "image", "moderation", "prompt")
"""Refused when they are there. `stream` and `stream_options` are ignored over WebSocket, and `client_metadata`
everywhere: they ask for nothing.
"""


def _judge(name: str, value: Any, rule: Rule) -> None:
    reason = None if value is None else rule(value)
    if reason is not None:
        raise WireError(f"Invalid value for {name}: {reason}.", param=name)


def _nested(create: ResponseCreate, name: str, rules: Mapping[str, Rule]) -> dict[str, Any]:
    raw = getattr(create, name)
    value: dict[str, Any] = plain(raw, name) if present(raw) else {}
    for key, rule in rules.items():
        _judge(f"{name}.{key}", value.get(key), rule)
    return value


def _compact_above(create: ResponseCreate) -> int | None:
    entries: list[dict[str, Any]] = plain(create.context_management) if present(create.context_management) else []
    require_few("context_management", len(entries), MAX_ENTRIES, "entries")
    for index, entry in enumerate(entries):
        path = f"context_management[{index}]"
        _judge(f"{path}.type", entry.get("type"), one_of("compaction"))
        _judge(f"{path}.compact_threshold", entry.get("compact_threshold"), between(1))
    if not entries:
        return None
    given = [entry["compact_threshold"] for entry in entries if entry.get("compact_threshold") is not None]
    return min(given, default=0)
