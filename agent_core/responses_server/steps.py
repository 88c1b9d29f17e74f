"""The pipeline's steps that look at what is remembered: state, screening, rendering. Each works on new items only.

What can't be reused (a response from the durable store, or a feature that is switched off) is worked through once more
from the start, by the same code.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_core.errors import ServiceError
from agent_core.protocol.lanes import Relation
from agent_core.responses_server.call import Call
from agent_core.responses_server.rendering import Header, Renderer
from agent_core.responses_server.request.validation import Checked
from agent_core.responses_server.screening.chain import Screens, States
from agent_core.responses_server.screening.port import Verdict
from agent_core.responses_server.state.context import Context
from agent_core.responses_server.state.remembered import Remembered, calls_in, read_remembered
from agent_core.responses_server.state.store import ResponseStore


async def resolve_state(call: Call, store: ResponseStore) -> Remembered | None:
    """What the call continues: the connection's memory, else the durable store; None for a fresh conversation.

    Raises ServiceError `previous_response_not_found`.
    """
    wanted = call.create.previous_response_id
    if call.relation is Relation.FRESH or wanted is None:
        return None
    parent = call.head or await read_remembered(store, wanted)
    if parent is None:
        raise ServiceError(
            f"Previous response with id '{wanted[:80]}' not found.",
            code="previous_response_not_found",
            status=400,
            param="previous_response_id",
        )
    return parent


def screen(
    screens: Screens, parent: Remembered | None, checked: Checked, *, incremental: bool
) -> tuple[States, Verdict]:
    """Classifier states behind the new items, and the verdict."""
    if parent is None:
        return screens.screen(screens.initial(), checked.items)
    if incremental and parent.screens is not None:
        return screens.screen(parent.screens, checked.items)
    return screens.screen(screens.initial(), [*parent.context.items, *checked.items])


@dataclass(frozen=True)
class Prompt:
    """What the engine is given.

    `first_new`: how many items are old. `reused`: how many tokens were rendered by an earlier call.
    """

    header: Header
    context: Context
    first_new: int
    reused: int

    @property
    def size(self) -> int:
        return len(self.header.tokens) + len(self.context.tokens)


async def render(renderer: Renderer, call: Call, parent: Remembered | None, checked: Checked, *, keep: bool) -> Prompt:
    """Append the new items' tokens to the cached ones; `keep` False renders everything again."""
    header = await renderer.header(call.create.instructions, checked.tools)
    base = parent.context if parent is not None else Context.empty()
    old = len(base.items)
    reused = 0
    if old and not (keep and len(base.tokens)):
        everything = [*base.items, *checked.items]
        rendered = await renderer.items(everything)
        context = Context.empty().extended(everything, rendered.tokens, calls_in(everything))
    else:
        reused = len(base.tokens)
        rendered = await renderer.items(checked.items)
        context = base.extended(checked.items, rendered.tokens, calls_in(checked.items))
    if keep and parent is not None and parent.header is not None and parent.header.digest == header.digest:
        reused += len(header.tokens)
    return Prompt(header=header, context=context, first_new=old, reused=reused)
