"""The pipeline's steps that look at what is remembered: state, reading, screening, rendering, compacting.

Each works on new items only. What can't be reused (a response from the durable store, a compacted context, or a feature
that is switched off) is worked through once more from the start, by the same code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_core.errors import ServiceError, WireError
from agent_core.protocol.lanes import Relation
from agent_core.responses_server.conversation.compaction import Compacted, OpenedCompaction, compact, effective
from agent_core.responses_server.conversation.context import Context
from agent_core.responses_server.conversation.opening import opened
from agent_core.responses_server.conversation.sealing import Seal
from agent_core.responses_server.pipeline.active import Call
from agent_core.responses_server.rendering.renderer import Header, Renderer
from agent_core.responses_server.request.toolset import ToolSet
from agent_core.responses_server.request.validation import Checked, Given, Validator
from agent_core.responses_server.screening.chain import Screened, Screens
from agent_core.responses_server.slices import Slices, in_turns
from agent_core.responses_server.state.chain import ChainState, calls_in, read_remembered
from agent_core.responses_server.store.port import ResponseStore
from agent_core.responses_server.store.stored_items import References
from agent_core.wire.items import AnyItem, Compaction, CompactionTrigger, call_id_of, output_call_id, read_item, text_of
from agent_core.wire.pairing import pairs

DEFAULT_SHARE, DEFAULT_TOKENS = 0.8, 200_000
"""Where compaction sets in by itself: at a share of the model's context, or at so many tokens if that has no end."""


async def resolve_state(call: Call, store: ResponseStore, seal: Seal, *, keep: bool = True) -> ChainState | None:
    """What the call continues: the connection's memory, else the durable store; None for a fresh conversation.

    `keep` False leaves the memory aside. Raises ServiceError `previous_response_not_found`.
    """
    wanted = call.create.previous_response_id
    if call.relation is Relation.FRESH or wanted is None:
        return None
    parent = (call.head if keep else None) or await read_remembered(store, wanted, call.owner, seal)
    if parent is None:
        raise ServiceError(
            f"Previous response with id '{wanted[:80]}' not found.",
            code="previous_response_not_found",
            status=400,
            param="previous_response_id",
        )
    return parent


async def check(
    call: Call, parent: ChainState | None, validator: Validator, store: ResponseStore, seal: Seal
) -> Checked:
    """Read, open and judge what is new. Raises WireError."""
    given = await in_turns(validator.read(call.create, call.before))
    if given.references:
        await _resolve_references(given, store, call.owner)
    given.items = await in_turns(opened(given.items, seal))
    return await in_turns(validator.check(call.create, parent, given))


async def _resolve_references(given: Given, store: ResponseStore, owner: str) -> None:
    """Put stored items in the place of references to them."""
    references = References(store, owner)
    for index, item_id in given.references.items():
        raw = await references.find(item_id, f"input[{index}].id")
        if raw is None:
            message = f"Item with id '{item_id[:80]}' not found; only items of stored responses can be referred to."
            raise WireError(message, param=f"input[{index}].id")
        given.raws[index], given.items[index] = raw, read_item(raw)


def screen(
    screens: Screens, parent: ChainState | None, items: Sequence[AnyItem], *, incremental: bool
) -> Slices[Screened]:
    """Classifier states behind the new items, and the verdict on the conversation."""
    if any(isinstance(item, OpenedCompaction) for item in items):
        items = [one for item in items for one in _inside(item)]
    if parent is None:
        return screens.screen(screens.initial(), items)
    if incremental and parent.screens is not None:
        return screens.screen(parent.screens, items)
    return screens.screen(screens.initial(), [*parent.context.items, *items])


def _inside(item: AnyItem) -> Sequence[AnyItem]:
    """What a compaction holds, and anything else as it is."""
    return [*item.messages, *item.tail] if isinstance(item, OpenedCompaction) else [item]


@dataclass(frozen=True)
class Prompt:
    """What the engine is given.

    `context` has all items; the last of them, `pending`, are not rendered yet. `header` None: nor is that. `first_new`:
    how many items are old. `reused`: how many tokens were rendered by an earlier call.
    """

    context: Context
    first_new: int
    reused: int
    pending: tuple[AnyItem, ...] = ()
    header: Header | None = None

    @property
    def rendered(self) -> bool:
        return self.header is not None and not self.pending

    @property
    def size(self) -> int:
        """Tokens of what is rendered."""
        return (len(self.header.tokens) if self.header is not None else 0) + len(self.context.tokens)

    @property
    def estimate(self) -> int:
        """About how many tokens it has: those that are rendered, and one for each four characters of the rest."""
        return self.size + sum(len(text_of(item)) for item in self.pending) // 4

    def followed(self, *items: AnyItem) -> Prompt:
        """With further items behind it."""
        context, old = self.context.extended(items, (), calls_in(items)), len(self.context.items)
        return replace(self, context=context, first_new=old, pending=(*self.pending, *items))


def begin(parent: ChainState | None, checked: Checked, *, keep: bool) -> Prompt:
    """The prompt with all its items; nothing new is rendered. `keep` False has everything rendered again."""
    base = parent.context if parent is not None else Context.empty()
    old = len(base.items)
    if any(isinstance(item, Compaction | CompactionTrigger) for item in checked.items):
        return _fresh(effective([*base.items, *checked.items]), 0)
    if old and not (keep and len(base.tokens)):
        return _fresh([*base.items, *checked.items], old)
    context = base.extended(checked.items, (), calls_in(checked.items))
    return Prompt(context, old, reused=len(base.tokens), pending=tuple(checked.items))


def _fresh(items: Sequence[AnyItem], old: int) -> Prompt:
    """Of items none of which is rendered."""
    context = Context.empty().extended(items, (), calls_in(items))
    return Prompt(context, old, reused=0, pending=tuple(items))


async def render(
    renderer: Renderer,
    instructions: str | None,
    tools: ToolSet,
    parent: ChainState | None,
    prompt: Prompt,
    *,
    keep: bool,
) -> Prompt:
    """The prompt with everything rendered: the new items' tokens behind the cached ones."""
    header, reused = prompt.header, prompt.reused
    if header is None:
        header = await renderer.header(instructions, tools)
        if keep and parent is not None and parent.header is not None and parent.header.digest == header.digest:
            reused += len(header.tokens)
    rendered = await renderer.items(prompt.pending)
    context = prompt.context.extended((), rendered.tokens, ())
    return replace(prompt, context=context, reused=reused, pending=(), header=header)


async def _rendered(renderer: Renderer, items: Sequence[AnyItem]) -> Context:
    return Context.empty().extended(items, (await renderer.items(items)).tokens, calls_in(items))


async def compaction_for(checked: Checked, prompt: Prompt, window: int | None) -> Compacted | None:
    """The compaction that this call has to make, None if none.

    `window`: tokens that the model's context holds, None for no limit.
    """
    items = prompt.context.items
    if checked.compact_now:
        return await in_turns(compact(items))
    above = checked.settings.compact_above
    if above is None or not checked.settings.generate:
        return None
    if above == 0:
        above = int(window * DEFAULT_SHARE) if window is not None else DEFAULT_TOKENS
    if prompt.size <= above:
        return None
    made = await in_turns(compact(items))
    return made if made.shortened else None


async def sealed(made: Compacted, seal: Seal) -> str:
    """A compaction, sealed off the event loop. Raises ServiceError if it is too large to come back."""
    try:
        return await asyncio.to_thread(made.sealed, seal)
    except ValueError:
        message = "What has to be kept of this context is too large for a compaction."
        raise ServiceError(message, code="context_length_exceeded", status=400, param="input") from None


async def compacted(renderer: Renderer, prompt: Prompt, made: Compacted) -> Prompt:
    """The prompt that goes on behind a compaction. Nothing of the context is reused."""
    return Prompt(await _rendered(renderer, made.items), first_new=0, reused=0, header=prompt.header)


async def fitted(renderer: Renderer, prompt: Prompt, window: int | None, *, truncate: bool) -> Prompt:
    """The prompt, or what fits of it: `truncate` drops items from the start, with outputs whose calls are gone.

    Raises ServiceError `context_length_exceeded`.
    """
    if window is None or prompt.size <= window:
        return prompt
    items = list(prompt.context.items)
    if truncate:
        sizes = [len((await renderer.items([item])).tokens) for item in items]
        start, left = 0, prompt.size
        while start < len(items) - 1 and left > window:
            left -= sizes[start]
            start += 1
        rest = _with_their_calls(items[start:])
        if rest and left <= window:
            return Prompt(await _rendered(renderer, rest), first_new=0, reused=0, header=prompt.header)
    raise ServiceError(
        f"The input has {prompt.size} tokens, the model's context holds {window}.",
        code="context_length_exceeded",
        status=400,
        param="input",
    )


def _with_their_calls(items: Sequence[AnyItem]) -> list[AnyItem]:
    """Items without the outputs of calls that are not among them."""
    answers = pairs((call_id_of(item), output_call_id(item)) for item in items)
    return [item for at, item in enumerate(items) if output_call_id(item) is None or at in answers]
