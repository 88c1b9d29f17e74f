"""Pieces of context that a session puts into the conversation, each within its bound. Pure.

Bounds are in tokens, estimated as a third of the bytes: more than prose and code have in any common tokenizer. Denser
text, such as base64, may have half as many again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from agent_core.text import to_json

BYTES_PER_TOKEN = 3

Fragment = Literal[
    "instructions", "entries", "agents", "all_agents", "git", "changes", "documents", "diagnostics", "footprint",
    "summary", "said",
]  # fmt: skip

MAX_TOKENS: Mapping[Fragment, int] = {
    "instructions": 5_000,
    "entries": 600,
    "agents": 3_000,
    "all_agents": 9_000,
    "git": 600,
    "changes": 3_000,
    "documents": 400,
    "diagnostics": 1_000,
    "footprint": 1_500,
    "summary": 6_000,
    "said": 8_000,
}
"""`agents` bounds one AGENTS.md, `all_agents` those of a session together; `said` what users said before a
compaction."""


def tokens_of(text: str | bytes) -> int:
    """An estimate from above, for prose and code."""
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "replace"))
    return -(-size // BYTES_PER_TOKEN)


def capped(fragment: Fragment, text: str) -> str:
    """`text` within the fragment's bound, cut at the end of a line and marked where it was cut."""
    return cut(text, MAX_TOKENS[fragment])


def cut(text: str, max_tokens: int) -> str:
    """`text` within `max_tokens`, its cut and the remark on it included."""
    if tokens_of(text) <= max_tokens:
        return text
    data = text.encode("utf-8", "replace")
    remark = f"\n[cut here: {len(data):,} bytes in all]"
    room = max(0, max_tokens * BYTES_PER_TOKEN - len(remark))
    kept = data[:room].decode("utf-8", "ignore")
    lines, newline, _ = kept.rpartition("\n")
    return (lines if newline and len(lines) >= len(kept) // 2 else kept) + remark


def listed(fragment: Fragment, head: str, lines: Iterable[str]) -> str:
    """`head` and as many whole lines as fit, then how many more there are. "" without lines."""
    every = list(lines)
    if not every:
        return ""
    room = MAX_TOKENS[fragment] - tokens_of(head) - 12
    shown: list[str] = []
    for line in every:
        room -= tokens_of(line) + 1
        if room < 0:
            break
        shown.append(line)
    if len(shown) < len(every):
        shown.append(f"… and {len(every) - len(shown)} more")
    return "\n".join((head, *shown))


def message(role: str, text: str) -> bytes:
    """One encoded message item of a user, a developer or the system."""
    content = [{"type": "input_text", "text": text}]
    return to_json({"type": "message", "role": role, "content": content})


def broken_off(text: str, why: str) -> bytes:
    """The assistant's words that came before a reply broke off, marked as such."""
    content = [{"type": "output_text", "text": f"{text}\n[broken off: {why}]", "annotations": []}]
    return to_json({"type": "message", "role": "assistant", "status": "incomplete", "content": content})
