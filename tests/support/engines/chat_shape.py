"""One thing that a Chat Completions server sends, for the tables of them.

A row is the body of the answer, as SSE data, and what it says: reasoning, text and calls (name, arguments).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
DONE = "[DONE]"
ASSUMED = "no report at hand"
"""The format leaves room for it, or our own issues have it."""
READ = '{"path":"a.py"}'
OTHER = '{"path":"b.py"}'


@dataclass(frozen=True)
class Shape:
    """`says` None: the answer is cut off, and a failure that passes. `counts`: input, cached and output tokens."""

    source: str
    events: list[Any]
    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    reason: str = "stop"
    counts: tuple[int | None, int | None, int | None] | None = None
    raw: bytes | None = None
    """The body, byte for byte, where `events` can't say it."""


def part(finish: Any = None, **delta: Any) -> Json:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def asks(finish: Any = None, **call: Any) -> Json:
    return part(finish, tool_calls=[call])


def fn(name: str | None = None, arguments: Any = None) -> Json:
    return {key: value for key, value in {"name": name, "arguments": arguments}.items() if value is not None}


def said(*extra: Json, **fields: Any) -> list[Any]:
    return [part(content="Hel"), part(content="lo"), *extra, part("stop"), DONE]


USAGE = {"prompt_tokens": 9, "completion_tokens": 2}


def counted(usage: Any, **fields: Any) -> list[Any]:
    return [part(content="Hello"), part("stop"), {"choices": [], "usage": usage} | fields, DONE]


def sse(*lines: str) -> bytes:
    return "".join(lines).encode()


HEL, LO, STOP = (
    '{"choices":[{"index":0,"delta":{"content":"Hel"}}]}',
    '{"choices":[{"index":0,"delta":{"content":"lo"}}]}',
    '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
)
