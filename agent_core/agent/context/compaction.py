"""Keeping a session's context within bounds.

The service's own compaction inside a reply is used where it offers that, then its standalone one; else the model is
asked for a summary, and where that fails too the oldest part is left out. What users said, the plan and the touched
files survive all of them, and in the middle of a turn its latest replies do, whole: calls go on from their reasoning.
The old items stay in the session's file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from importlib import resources

import msgspec

from agent_core.agent.calls import item_type, role_of, text_of
from agent_core.agent.context.context import SessionContext
from agent_core.agent.context.fragments import MAX_TOKENS, cut, message, tokens_of
from agent_core.agent.history import History
from agent_core.agent.limits import Spent
from agent_core.clock import new_id
from agent_core.errors import LooplineError
from agent_core.model.capabilities import ModelBook
from agent_core.model.port import CallRequest, CallResult, Items, Model, Usage
from agent_core.turns.events import CallBegan, CallEnded, ContextSize, Notice, Observer

TOO_LONG = frozenset({"context_length_exceeded", "context_too_large"})
"""Codes by which services say that the context does not fit the model."""

LANE = "compaction"
SAFETY = 1.25
"""A service that compacts inside its replies is trusted up to this much above the threshold."""
WORTH_IT = 0.8
"""A context that is larger than this share of the one before gained too little to be used."""


TRY_AGAIN = 1.2
"""A context that could not be shortened is tried again when it has grown by this factor."""


class Compactor:
    """Belongs to one session. `at_tokens`: from this size on the context is shortened, or from less where the model
    takes less; 0: never, but where the service refuses it. `in_band`: the service was asked to compact inside its
    replies. `book` says what models take."""

    def __init__(
        self,
        *,
        history: History,
        model: Model,
        context: SessionContext,
        observer: Observer,
        at_tokens: int,
        in_band: bool = False,
        book: ModelBook | None = None,
    ) -> None:
        self._history, self._model, self._context = history, model, context
        self._tell, self._session_id = observer, history.header.id
        self._at_tokens, self._safety = at_tokens, SAFETY if in_band else 1.0
        self._book = book or ModelBook()
        self._not_before = 0.0
        self._start = history.items.start
        self._measured_items, self._measured_tokens = self._start, 0

    def measured(self, usage: Usage | None, model: str) -> None:
        """A call over the whole history ended: what the service counted."""
        if usage is not None and usage.input_tokens is not None:
            self._measured_items = len(self._history.items)
            self._measured_tokens = usage.input_tokens + (usage.output_tokens or 0)
            self.tell_size(model)

    def tell_size(self, model: str) -> None:
        """How much of what `model` takes is used."""
        knows = self._book.of(model)
        size = ContextSize(
            session_id=self._session_id,
            tokens=self.size(),
            window_tokens=knows.context_tokens,
            compact_at_tokens=knows.compact_at(self._at_tokens) or None,
            estimated=not self._measured_tokens,
        )
        self._tell(size)

    def size(self) -> int:
        """Tokens of the context: as last counted, plus an estimate of what came since."""
        return self._measured_tokens + sum(map(tokens_of, self._history.items.raw(self._measured_items)))

    async def fit(self, request: CallRequest, spent: Spent) -> None:
        """Before a call: shorten what is too long, and repeat what must survive a compaction of the service."""
        if self._history.items.start != self._start:
            self._start = self._history.items.start
            self._append_footprint(request.turn)
        limit = self._book.of(request.model).compact_at(self._at_tokens) * self._safety
        size = self.size() if limit else 0
        if limit and size >= max(limit, self._not_before):
            await self.shrink(request, spent)
            self._not_before = size * TRY_AGAIN

    async def shrink(self, request: CallRequest, spent: Spent, *, refused: bool = False) -> bool:
        """Shorten the context now; False if nothing made it much shorter. No call may be open.

        `refused`: the service found it too long, so that not even a summary of all of it can be had.
        """
        before = sum(map(tokens_of, self._history.context()))
        items, how = await self._model.compact(request), "standalone"
        if items is None:
            items, how = await self._local(request, spent, refused=refused), "local"
        if footprint := self._context.footprint.text():
            items = [*items, message("developer", footprint)]
        after = sum(map(tokens_of, items))
        if after > before * WORTH_IT:
            return False
        self._history.compact(items, how, request.turn)
        self._start = self._measured_items = self._history.items.start
        self._measured_tokens = 0
        by = "by the service" if how == "standalone" else "here"
        text = f"the conversation was compacted {by}: about {before:,} tokens became {after:,}"
        self._tell(Notice(severity="info", text=text, session_id=self._session_id))
        self.tell_size(request.model)
        return True

    def _append_footprint(self, turn: str | None) -> None:
        if footprint := self._context.footprint.text():
            self._history.append([message("developer", footprint)], turn)

    async def _local(self, request: CallRequest, spent: Spent, *, refused: bool) -> list[bytes]:
        """A new context without the service's help."""
        context = self._history.context()
        opening = await self._context.opening(anew=True)
        said, size = said_by_users(context), sum(map(tokens_of, context))
        if refused:
            context = [*said, *tail_of(context, size // 2)]
        if summary := await self._summary(request, context, spent):
            text = f"Summary of the conversation so far, written by you:\n\n{cut(summary, MAX_TOKENS['summary'])}"
            return [*opening, *said, message("user", text), *open_work(context, size // 3, size // 2)]
        left_out = message("developer", "Earlier parts of this conversation were left out.")
        return [*opening, *said, left_out, *tail_of(context, size // 3)]

    async def _summary(self, request: CallRequest, context: Sequence[bytes], spent: Spent) -> str:
        """The model's own summary, on a lane of its own so that the conversation's chain is left alone; "" if it gives
        none."""
        call, result = new_id("call"), None
        request = msgspec.structs.replace(
            request,
            items=Items([*context, message("user", _prompt())]),
            options={**request.options, "tool_choice": "none"},
            call=call,
        )
        ids = {"session_id": self._session_id, "turn_id": request.turn or ""}
        self._tell(CallBegan(**ids, call_id=call))
        lane = self._model.lane(LANE)
        try:
            async with contextlib.aclosing(lane.call(request)) as stream:
                async for item in stream:
                    if isinstance(item, CallResult):
                        result = item
        except LooplineError as error:
            text = f"no summary for the compaction: {error.message}"
            self._tell(Notice(severity="warning", text=text, session_id=self._session_id))
        finally:
            inference_ms = result.timing.inference_ms if result is not None else None
            self._tell(CallEnded(**ids, call_id=call, inference_ms=inference_ms))
            await lane.close()
        spent.call(result.usage if result is not None else None)
        return text_of(result.items).strip() if result is not None else ""


def said_by_users(context: Sequence[bytes]) -> list[bytes]:
    """The user messages, oldest first; beyond the bound the newest ones, of which the very newest is always there."""
    kept: list[bytes] = []
    room = MAX_TOKENS["said"]
    for item in reversed(context):
        if item_type(item) != "message" or role_of(item) != "user":
            continue
        room -= tokens_of(item)
        if room < 0 and kept:
            break
        kept.append(item if room >= 0 else message("user", cut(text_of([item]), MAX_TOKENS["said"])))
    return kept[::-1]


def tail_of(context: Sequence[bytes], max_tokens: int) -> list[bytes]:
    """The newest items within `max_tokens`, from the start of a reply on, so that no output lacks its call and no call
    its reasoning. User messages are left out: they are kept apart."""
    start, room = len(context), max_tokens
    for at in range(len(context) - 1, -1, -1):
        room -= tokens_of(context[at])
        if room < 0:
            break
        if at > 0 and _by_client(context[at - 1]) and not item_type(context[at]).endswith("_output"):
            start = at
    return [item for item in context[start:] if role_of(item) != "user"]


def open_work(context: Sequence[bytes], max_tokens: int, most_of_one: int) -> list[bytes]:
    """The newest replies of a turn that runs, each with its reasoning, its calls and their outputs: as many as fit
    `max_tokens`, and the very newest also if it takes up to `most_of_one`. Nothing between two turns."""
    first = max((at + 1 for at, item in enumerate(context) if role_of(item) == "user"), default=0)
    starts = [
        at for at in range(max(first, 1), len(context)) if _by_client(context[at - 1]) and not _by_client(context[at])
    ]
    if not starts:
        return []
    size_from: dict[int, int] = {}
    room = 0
    for at in range(len(context) - 1, starts[0] - 1, -1):
        room += tokens_of(context[at])
        size_from[at] = room
    start = next((at for at in starts if size_from[at] <= max_tokens), starts[-1])
    return list(context[start:]) if size_from[start] <= max(max_tokens, most_of_one) else []


def _by_client(item: bytes) -> bool:
    kind = item_type(item)
    return kind.endswith("_output") or (kind == "message" and role_of(item) != "assistant")


def _prompt() -> str:
    return resources.files(__package__).joinpath("summary_prompt.md").read_text(encoding="utf-8").strip()
