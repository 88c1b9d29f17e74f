"""Compaction: a long context as its messages, a digest of all else, and what is still to be answered.

The digest is mechanical (one shortened line per item), not a model's summary. A compaction item carries all three, so
it stands for everything before it: a client may send the items before it again, some of them, or none. What counts as
said is the same in each case (`effective`). Source: OpenAI "Compaction" guide, `POST /v1/responses/compact`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Raw

from agent_core.responses_server.state.sealing import seal, unseal
from agent_core.wire.codec import to_raw
from agent_core.wire.items import (
    AdditionalTools,
    AnyItem,
    Compaction,
    CompactionTrigger,
    ConfigurationUpdate,
    CustomToolCall,
    FunctionCall,
    Message,
    Reasoning,
    ToolSearchOutput,
    call_id_of,
    item_type,
    output_call_id,
    read_item,
    text_of,
)

DIGEST_CHARS = 12_000
"""Longest digest; the newest lines are kept."""
LINE_CHARS, ANSWER_CHARS = 240, 800
"""Longest line of an item, and of what the assistant said."""

_KEPT_ROLES = ("user", "developer", "system")


class Digest(Message, tag_field="type", tag="message"):
    """The message that stands in a context for what was compacted."""


class _Sealed(msgspec.Struct):
    messages: list[Raw]
    digest: str
    tail: list[Raw]


class Compacted(msgspec.Struct, frozen=True):
    """`messages` are kept as they were, and so are settings and tools that came as items. `digest` stands for the rest.

    `tail` is still to be answered. `shortened`: how many items the digest took in that were whole before.
    """

    messages: list[AnyItem]
    digest: str
    tail: list[AnyItem]
    shortened: int

    @property
    def items(self) -> list[AnyItem]:
        """The context that goes on."""
        return [*self.messages, _digest_message(self.digest), *self.tail]

    def seal(self) -> str:
        """The `encrypted_content` of its compaction item."""
        return seal(
            "compaction",
            {
                "messages": [to_raw(item) for item in self.messages],
                "digest": self.digest,
                "tail": [to_raw(item) for item in self.tail],
            },
        )


def compact(items: Sequence[AnyItem]) -> Compacted:
    """Compact a whole (effective) context.

    The tail is what came after the model spoke last, but for messages at its start; calls that it answers, or that
    nothing has answered yet, are kept with it.
    """
    start = len(items)
    while start and not _is_said_by_model(items[start - 1]):
        start -= 1
    tail = list(items[start:]) if start else []
    while tail and isinstance(tail[0], Message):
        del tail[0]
    head = list(items[: len(items) - len(tail)])
    answered = {call_id for item in head if (call_id := output_call_id(item)) is not None}
    kept: list[AnyItem] = []
    unanswered: list[AnyItem] = []
    rest: list[AnyItem] = []
    for item in head:
        call_id = call_id_of(item)
        if call_id is not None and call_id not in answered:
            unanswered.append(item)
        elif _is_kept(item):
            kept.append(item)
        else:
            rest.append(item)
            if isinstance(item, ToolSearchOutput):
                kept.append(AdditionalTools(role="developer", tools=item.tools))
    shortened = sum(not isinstance(item, Digest) for item in rest)
    return Compacted(kept, _digest(rest), [*unanswered, *tail], shortened)


def open_calls(item: Compaction) -> list[str] | None:
    """Ids of the calls that are still to be answered behind a compaction item; None if it was not made here."""
    sealed: _Sealed | None = unseal("compaction", item.encrypted_content, _Sealed)
    if sealed is None:
        return None
    return [call_id for raw in sealed.tail if (call_id := call_id_of(read_item(raw))) is not None]


def effective(items: Sequence[AnyItem]) -> Sequence[AnyItem]:
    """The items that count: without triggers, and with the newest compaction in place of all that it stands for."""
    if not any(isinstance(item, Compaction | CompactionTrigger) for item in items):
        return items
    at = max((at for at, item in enumerate(items) if isinstance(item, Compaction)), default=None)
    rest = [item for item in items[0 if at is None else at + 1 :] if not isinstance(item, CompactionTrigger)]
    if at is None:
        return rest
    newest = items[at]
    sealed: _Sealed | None = (
        unseal("compaction", newest.encrypted_content, _Sealed) if isinstance(newest, Compaction) else None
    )
    if sealed is None:
        return rest
    tail = [read_item(raw) for raw in sealed.tail]
    inside = [read_item(raw) for raw in sealed.messages]
    said = Counter(_key(item) for item in (*inside, *tail) if isinstance(item, Message))
    added = [item for item in items[:at] if _is_kept(item) and not _taken(said, item)]
    return [*added, *inside, _digest_message(sealed.digest), *tail, *rest]


def _is_said_by_model(item: AnyItem) -> bool:
    if isinstance(item, Message):
        return item.role == "assistant" or isinstance(item, Digest)
    return output_call_id(item) is None


def _is_kept(item: AnyItem) -> bool:
    if isinstance(item, Message):
        return item.role in _KEPT_ROLES and not isinstance(item, Digest)
    return isinstance(item, AdditionalTools | ConfigurationUpdate)


def _key(item: AnyItem) -> tuple[str, str]:
    return (item.role if isinstance(item, Message) else "", text_of(item))


def _taken(said: Counter[tuple[str, str]], item: AnyItem) -> bool:
    """Whether the compaction holds this message already; each of its messages stands for one."""
    key = _key(item)
    if not said[key]:
        return False
    said[key] -= 1
    return True


def _digest_message(digest: str) -> Digest:
    return Digest(role="developer", content=digest)


def _digest(items: Iterable[AnyItem]) -> str:
    lines: list[str] = []
    for item in items:
        lines += text_of(item).splitlines()[1:] if isinstance(item, Digest) else [_line(item)]
    size = 0
    kept: list[str] = []
    for line in reversed(lines):
        size += len(line) + 1
        if size > DIGEST_CHARS:
            kept.append(f"({len(lines) - len(kept)} earlier lines left out)")
            break
        kept.append(line)
    return "\n".join(["Earlier in this conversation, shortened:", *reversed(kept)])


def _line(item: AnyItem) -> str:
    """One line for one item."""
    if isinstance(item, Message):
        return f"{item.role}: {_short(text_of(item), ANSWER_CHARS)}"
    if isinstance(item, FunctionCall | CustomToolCall):
        return f"called {item.name}: {_short(text_of(item), LINE_CHARS)}"
    if isinstance(item, Reasoning):
        return f"thought: {_short(text_of(item), LINE_CHARS)}"
    if output_call_id(item) is not None:
        text = text_of(item)
        return f"it answered ({len(text)} characters): {_short(text, LINE_CHARS)}"
    return f"{item_type(item)}: {_short(text_of(item), LINE_CHARS)}"


def _short(text: str, limit: int) -> str:
    """One line of at most `limit` characters: its head and its tail."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    head = limit * 2 // 3
    return f"{flat[:head]} … {flat[-(limit - head) :]}"
