"""The fields of a chunk in all the shapes that servers give them: loose readers, none of which raises. Pure."""

from __future__ import annotations

import json
import math
from typing import Any, Final

_CACHED: Final = (
    ("prompt_tokens_details", "cached_tokens"),
    ("input_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),
    ("cache_read_input_tokens",),
    ("cached_tokens",),
)
_INPUT: Final = (("prompt_tokens",), ("input_tokens",), ("prompt_eval_count",))
_OUTPUT: Final = (("completion_tokens",), ("output_tokens",), ("eval_count",))
_REASONING: Final = (
    ("completion_tokens_details", "reasoning_tokens"),
    ("output_tokens_details", "reasoning_tokens"),
    ("reasoning_tokens",),
)
REASONING_FIELDS: Final = ("reasoning_content", "reasoning", "thinking")


def field(value: Any, *names: str) -> Any:
    """The field below several others; None where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def items(value: Any) -> list[Any]:
    """A list, or the one thing that stands in its place."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def string(value: Any) -> str:
    """Text, "" for what is none; a number counts as its digits."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def parts(content: Any) -> list[tuple[bool, str]]:
    """Pieces of a content that is text, a part, or a list of either; True: the piece is reasoning."""
    found: list[tuple[bool, str]] = []
    for part in items(content):
        if not isinstance(part, dict):
            found.append((False, string(part)))
        elif (thought := part.get("thinking") or part.get("reasoning")) is not None:
            found += [(True, text) for _, text in parts(thought)]
        else:
            said = next((part[name] for name in ("text", "refusal", "content", "parts") if part.get(name)), None)
            found += parts(said) if isinstance(said, list | dict) else [(False, string(said))]
    return [each for each in found if each[1]]


def reasoning(delta: dict[str, Any]) -> tuple[str, str]:
    """The reasoning of a delta, and the name of the field that it stood in; "" for none. Several fields repeat it."""
    for name in REASONING_FIELDS:
        text = "".join(text for _, text in parts(delta.get(name)))
        if text:
            return text, name
    details = [each for each in items(delta.get("reasoning_details")) if isinstance(each, dict)]
    text = "".join(string(each.get("text") or each.get("summary")) for each in details)
    return text, "reasoning" if text else ""


def calls(delta: dict[str, Any]) -> list[dict[str, Any]]:
    """The tool calls of a delta, the single one of the older API too."""
    given = delta.get("tool_calls")
    if isinstance(given, dict) and given and all(key.isdigit() for key in given):
        given = list(given.values())  # a table by index
    found = [each for each in items(given) if isinstance(each, dict)]
    legacy = delta.get("function_call")
    return [*found, {"function": legacy}] if isinstance(legacy, dict) else found


def choices(chunk: dict[str, Any]) -> list[dict[str, Any]]:
    """The choices of a chunk, each with a delta or message; Ollama's own API has one message in their place."""
    message = chunk.get("message")
    if "choices" not in chunk and isinstance(message, dict) and "done" in chunk:
        end = chunk.get("done_reason") or "stop" if chunk["done"] else None
        return [{"index": 0, "delta": message, "finish_reason": end}]
    found = []
    for each in items(chunk.get("choices")):
        if isinstance(each, str):
            found.append({"index": 0, "delta": {"content": each}})
        elif isinstance(each, dict):
            delta = each.get("delta")
            found.append(each | {"delta": {"content": delta}} if isinstance(delta, str) else each)
    return found


def place(index: Any) -> Any:
    """An index as a number, where it is one."""
    count = number(index)
    return index if count is None else count


def arguments(value: Any) -> str:
    """Arguments as JSON text; servers send the object itself too, or the text of it encoded once more."""
    if isinstance(value, str) and value.startswith('"{'):
        try:
            inner = json.loads(value)
            return inner if isinstance(json.loads(inner), dict) else value
        except (ValueError, TypeError, RecursionError):
            return value
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def number(value: Any) -> int | None:
    """A count of tokens; None for what can be none."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return int(value)


def counts(usage: dict[str, Any]) -> dict[str, int | None]:
    """Input, cached, output and reasoning tokens of a usage, wherever it has them."""
    places = {
        "input_tokens": _INPUT,
        "cached_tokens": _CACHED,
        "output_tokens": _OUTPUT,
        "reasoning_tokens": _REASONING,
    }
    return {
        name: next((count for path in paths if (count := number(field(usage, *path))) is not None), None)
        for name, paths in places.items()
    }
