"""Compaction: a long context as its messages, a digest of all else, and what is still to be answered.

The digest is mechanical (one shortened line per item), not a model's summary. A compaction item carries all three, so
it stands for everything before it: a client may send the items before it again, some of them, or none. What counts as
said is the same in each case (`effective`). What it carries is sealed; `opening.py` reads it once, when it comes in.
Source: OpenAI "Compaction" guide, `POST /v1/responses/compact`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
from msgspec import Raw

from agent_core.responses_server.conversation.sealing import Seal
from agent_core.responses_server.slices import ITEMS_PER_SLICE, Slices
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
    text_of,
)
from agent_core.wire.pairing import pairs

DIGEST_CHARS = 12_000
"""Longest digest; the newest lines are kept."""
LOOKS_PER_SLICE = 512
"""Items that are sorted out before others get their turn."""
LINE_CHARS, ANSWER_CHARS = 240, 800
"""Longest line of an item, and of what the assistant said."""

_LOOKED_AT = 8
"""How many times a line's length of a text's beginning and end is looked at; the rest would be blanks."""

_KEPT_ROLES = ("user", "developer", "system")


class Digest(Message, tag_field="type", tag="message"):
    """The message that stands in a context for what was compacted."""


class CompactionContent(msgspec.Struct):
    """What a compaction item carries, as it is sealed."""

    messages: list[Raw]
    digest: str
    tail: list[Raw]


class OpenedCompaction(Compaction, tag_field="type", tag="compaction"):
    """A compaction item whose content was read. Only in memory: on the wire it is as it came."""

    messages: list[AnyItem] = msgspec.field(default_factory=list)
    digest: str = ""
    tail: list[AnyItem] = msgspec.field(default_factory=list)


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

    def sealed(self, seal: Seal) -> str:
        """The `encrypted_content` of its compaction item. Blocks while it packs. Raises ValueError if it is too large
        to be opened again."""
        content = CompactionContent(
            messages=[to_raw(item) for item in self.messages],
            digest=self.digest,
            tail=[to_raw(item) for item in self.tail],
        )
        return seal.seal("compaction", content)


def compact(items: Sequence[AnyItem]) -> Slices[Compacted]:
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
    answered = {*pairs((call_id_of(item), output_call_id(item)) for item in head).values()}
    kept: list[AnyItem] = []
    unanswered: list[AnyItem] = []
    rest: list[AnyItem] = []
    for number, item in enumerate(head, 1):
        if number % LOOKS_PER_SLICE == 0:
            yield
        if call_id_of(item) is not None and number - 1 not in answered:
            unanswered.append(item)
        elif _is_kept(item):
            kept.append(item)
        else:
            rest.append(item)
            if isinstance(item, ToolSearchOutput):
                kept.append(AdditionalTools(role="developer", tools=item.tools))
    shortened = sum(not isinstance(item, Digest) for item in rest)
    return Compacted(kept, (yield from _digest(rest)), [*unanswered, *tail], shortened)


def open_calls(item: OpenedCompaction) -> list[str]:
    """Ids of the calls that are still to be answered behind a compaction."""
    answered = {*pairs((call_id_of(inside), output_call_id(inside)) for inside in item.tail).values()}
    calls = [call_id_of(inside) for inside in item.tail]
    return [call_id for at, call_id in enumerate(calls) if call_id is not None and at not in answered]


def newest_compaction(items: Sequence[AnyItem]) -> int | None:
    """Where the compaction stands that counts, None if there is none."""
    return next((at for at in range(len(items) - 1, -1, -1) if isinstance(items[at], Compaction)), None)


def effective(items: Sequence[AnyItem]) -> Sequence[AnyItem]:
    """The items that count: without triggers, and with the newest compaction in place of all that it stands for."""
    if not any(isinstance(item, Compaction | CompactionTrigger) for item in items):
        return items
    at = newest_compaction(items)
    rest = [item for item in items[0 if at is None else at + 1 :] if not isinstance(item, CompactionTrigger)]
    newest = items[at] if at is not None else None
    if not isinstance(newest, OpenedCompaction):
        return rest
    inside, tail = newest.messages, newest.tail
    said = Counter(_key(item) for item in (*inside, *tail) if isinstance(item, Message))
    added = [item for item in items[:at] if _is_kept(item) and not _taken(said, item)]
    return [*added, *inside, _digest_message(newest.digest), *tail, *rest]


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


def _digest(items: Sequence[AnyItem]) -> Slices[str]:
    """From the newest item backwards, until the digest is full."""
    size, left_out, kept, full = 0, 0, list[str](), False
    for number, item in enumerate(reversed(items), 1):
        if number % ITEMS_PER_SLICE == 0:
            yield
        if full:
            left_out += len(text_of(item).splitlines()) - 1 if isinstance(item, Digest) else 1
            continue
        for line in reversed(text_of(item).splitlines()[1:] if isinstance(item, Digest) else [_line(item)]):
            size += len(line) + 1
            full = full or size > DIGEST_CHARS
            if full:
                left_out += 1
            else:
                kept.append(line)
    if left_out:
        kept.append(f"({left_out} earlier lines left out)")
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
    """One line of at most `limit` characters: its head and its tail. Of a long text only these are looked at."""
    if len(text) > 2 * _LOOKED_AT * limit:
        text = f"{text[: _LOOKED_AT * limit]} … {text[-_LOOKED_AT * limit :]}"
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    head = limit * 2 // 3
    return f"{flat[:head]} … {flat[-(limit - head) :]}"
