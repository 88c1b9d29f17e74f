"""What a tool of a server answers, as text for the model, within bounds. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from agent_core.tools.commands.output import Capture, clean
from agent_core.tools.workspace.text import printable

MAX_RESULT_BYTES = 64_000
MAX_PARTS = 200


class Part(msgspec.Struct, frozen=True):
    """One part of an answer. `text` is its text or, of other kinds, what can be said of it in a line."""

    kind: Literal["text", "other"]
    text: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a call came to. `failed`: the tool says that it failed. `structured` is JSON text, "" for none."""

    parts: tuple[Part, ...]
    failed: bool = False
    structured: str = ""


def as_text(answer: Answer) -> str:
    """The answer as text: cleaned of control characters, its middle left out where it is too long."""
    capture = Capture(MAX_RESULT_BYTES)
    for chunk in _chunks(answer.parts):
        capture.feed(chunk)
    if not capture.total_bytes and answer.structured:
        capture.feed(_bytes(answer.structured))
    if len(answer.parts) > MAX_PARTS:
        capture.feed(f"\n[{len(answer.parts) - MAX_PARTS} more parts left out]".encode())
    return printable(capture.text()) or "(no output)"


def _chunks(parts: Sequence[Part]) -> Iterable[bytes]:
    for index, part in enumerate(parts[:MAX_PARTS]):
        text = part.text if part.kind == "text" else f"[{line(part.text, 300)}]"
        yield _bytes(("\n" if index else "") + text)


def line(text: str, limit: int) -> str:
    """One line of a foreign text, cut after `limit` characters."""
    flat = " ".join(clean(_bytes(text[: limit * 4])).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
