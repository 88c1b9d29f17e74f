"""What is done with a call's input before its answer and beside it: screening and rendering.

Little input is done at once. Much of it is screened in slices and rendered on the rendering thread while all else goes
on: the verdict is waited for before the first output, the tokens where somebody needs them, at the latest for usage.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agent_core.errors import ServiceError
from agent_core.responses_server.conversation.compaction import Compacted
from agent_core.responses_server.output.echo import flagged
from agent_core.responses_server.output.event_builder import EventBuilder
from agent_core.responses_server.pipeline import steps
from agent_core.responses_server.pipeline.active import Call
from agent_core.responses_server.rendering.renderer import INLINE_CHARS, Renderer
from agent_core.responses_server.request.validation import Checked
from agent_core.responses_server.screening.chain import Screened, Screens, States
from agent_core.responses_server.screening.port import ALLOWED, Action
from agent_core.responses_server.slices import at_once, in_turns
from agent_core.responses_server.state.chain import ChainState
from agent_core.wire.items import AnyItem


class Intake:
    """Of one response. `prompt` None: not begun, or it could not be rendered. `compaction` None: none is needed.

    `keep_tokens`, `keep_screens`: whether the work of earlier calls is reused. `overlap`: whether screening may go on
    behind the first event.
    """

    def __init__(
        self,
        call: Call,
        screens: Screens,
        renderer: Renderer,
        *,
        keep_tokens: bool,
        keep_screens: bool,
        overlap: bool,
    ) -> None:
        self._call, self._screens, self._renderer = call, screens, renderer
        self._keep_tokens, self._keep_screens, self._overlap = keep_tokens, keep_screens, overlap
        self._parent: ChainState | None = None
        self._checked: Checked | None = None
        self._screened: Screened | None = None
        self._screening: asyncio.Task[Screened] | None = None
        self._rendering: asyncio.Task[None] | None = None
        self.prompt: steps.Prompt | None = None
        self.compaction: Compacted | None = None
        self.verdict = ALLOWED

    @property
    def states(self) -> States | None:
        """What classifiers know of the conversation by now."""
        return self._screened.states if self._screened is not None else None

    @property
    def flag(self) -> str:
        """Code of the screen that flagged the input, "" for none so far."""
        return self.verdict.code if self.verdict.action is Action.FLAG else ""

    @property
    def _is_small(self) -> bool:
        return self._checked is not None and sum(map(len, self._checked.raws)) <= INLINE_CHARS

    def begin(self, parent: ChainState | None, checked: Checked) -> None:
        """Take in what is new, and begin to screen it."""
        self._parent, self._checked = parent, checked
        self.prompt = steps.begin(parent, checked, keep=self._keep_tokens)
        resumed = parent is None or (self._keep_screens and parent.screens is not None)
        work = steps.screen(self._screens, parent, checked.items, incremental=self._keep_screens)
        if self._overlap and not (resumed and self._is_small):
            self._screening = asyncio.create_task(in_turns(work, self._call.stages, "screen"))
            return
        with self._call.stages.timed("screen"):
            self._screened = at_once(work)
        self.verdict = self._screened.verdict

    async def screen_more(self, items: Sequence[AnyItem]) -> None:
        """Screen what came after the request: the model's own items, and what a rollout was given."""
        if self._screened is not None and items:
            work = self._screens.screen(self._screened.states, items)
            self._screened = await in_turns(work, self._call.stages, "screen")

    async def judged(self, ladder: EventBuilder) -> None:
        """Wait for the verdict; no output leaves before it. Raises ServiceError with its code if it blocks."""
        if self._screening is not None:
            self._screened = await asyncio.shield(self._screening)
            self._screening = None
        if self._screened is not None and self._screened.verdict != self.verdict:
            self.verdict = self._screened.verdict
            if self.flag:
                flagged(ladder.response, self.flag)
        if self.verdict.action is Action.BLOCK:
            raise ServiceError(self.verdict.message, code=self.verdict.code)

    async def render(self, window: int | None) -> None:
        """All of the prompt, and the compaction that it needs. Done once; a second time there is nothing to do.

        `window`: tokens that the model's context holds, None for no limit. Raises ServiceError
        `context_length_exceeded`.
        """
        checked, prompt = self._checked, self.prompt
        if checked is None or prompt is None or prompt.rendered:
            return
        instructions, keep = self._call.create.instructions, self._keep_tokens
        with self._call.stages.timed("render"):
            try:
                prompt = await steps.render(
                    self._renderer, instructions, checked.tools, self._parent, prompt, keep=keep
                )
            except Exception:
                self.prompt = None
                raise
            self.compaction = await steps.compaction_for(checked, prompt, window)
            if self.compaction is None:
                prompt = await steps.fitted(self._renderer, prompt, window, truncate=checked.settings.truncate)
            self.prompt = prompt

    def render_beside(self) -> None:
        """Begin to render if it is much; little is rendered when it is needed."""
        checked, prompt = self._checked, self.prompt
        if checked is None or prompt is None or prompt.rendered:
            return
        if not self._is_small or len(prompt.pending) > len(checked.items):
            self._rendering = asyncio.create_task(self.render(None))

    async def rendered(self) -> steps.Prompt | None:
        """The prompt with its tokens, None if there is none."""
        if self._rendering is not None:
            await asyncio.shield(self._rendering)
            self._rendering = None
        await self.render(None)
        return self.prompt

    async def rendered_by_now(self) -> steps.Prompt | None:
        """The same, but None if that still takes long."""
        if self._rendering is not None and not self._rendering.done():
            return None
        return await self.rendered()

    async def followed(self) -> steps.Prompt:
        """The prompt, nothing of which is being rendered, so that it may be added to."""
        prompt = await self.rendered() if self._rendering is not None else self.prompt
        assert prompt is not None
        return prompt

    async def compact(self, made: Compacted, window: int | None) -> int:
        """Go on behind a compaction. Returns the tokens of its digest."""
        checked, prompt = self._checked, self.prompt
        assert checked is not None
        assert prompt is not None
        with self._call.stages.timed("render"):
            tokens = await self._renderer.count(made.digest)
            prompt = await steps.compacted(self._renderer, prompt, made)
            self.prompt = await steps.fitted(self._renderer, prompt, window, truncate=checked.settings.truncate)
        return tokens

    async def close(self) -> None:
        """End what still goes on."""
        tasks = [task for task in (self._screening, self._rendering) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
