"""The way of one response: resolve state > validate > screen > route > render > sample > settle.

Each step is separate and timed. Only what is new is validated, screened and rendered; the rest is remembered from the
call before. A failure before `response.created` is told as an error, one after it as `response.failed`.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from agent_core.clock import Clock
from agent_core.errors import ConnectionLost, LooplineError, ServiceError
from agent_core.protocol.lanes import Head, Outcome, Relation
from agent_core.protocol.server_connection import LIMIT_CODE
from agent_core.responses_server import steps
from agent_core.responses_server.call import Call
from agent_core.responses_server.engines.base import EngineRequest, Finish, WarmingEngine
from agent_core.responses_server.output.accounting import usage_of
from agent_core.responses_server.output.echo import echo
from agent_core.responses_server.output.ladder import Frame, Ladder
from agent_core.responses_server.output.open_items import owed_output
from agent_core.responses_server.rendering import Rendered, Renderer
from agent_core.responses_server.request.calling import Calling
from agent_core.responses_server.request.offer import check_model
from agent_core.responses_server.request.options import Settings
from agent_core.responses_server.request.toolset import NO_TOOLS, ToolSet, joined, usable
from agent_core.responses_server.request.validation import Checked, Validator
from agent_core.responses_server.routing import Route
from agent_core.responses_server.sampling import STEERED, Budget, CallGuard, Steered, sample
from agent_core.responses_server.screening.chain import Screens, States
from agent_core.responses_server.screening.port import ALLOWED, Action
from agent_core.responses_server.settlement import Bill, Settlement
from agent_core.responses_server.sink import Sink
from agent_core.responses_server.state.compaction import Compacted
from agent_core.responses_server.state.context import Joined
from agent_core.responses_server.state.item_ids import maker
from agent_core.responses_server.state.remembered import Remembered, calls_in
from agent_core.responses_server.state.store import ResponseStore, StoredResponse
from agent_core.responses_server.tokenizer import Tokenizer
from agent_core.wire.codec import encode, to_raw
from agent_core.wire.items import AnyItem, Compaction, Reasoning, call_id_of
from agent_core.wire.response import Usage

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pipeline:
    """The parts that all responses share. `keep_tokens`, `keep_screens`: whether earlier work is reused."""

    clock: Clock
    store: ResponseStore
    validator: Validator
    screens: Screens
    renderer: Renderer
    tokenizer: Tokenizer
    settlement: Settlement
    keep_tokens: bool = True
    keep_screens: bool = True

    async def run(self, call: Call, sink: Sink) -> None:
        """Produce one response, or at once its end if it was stopped before it started.

        Raises ConnectionLost if its client is gone, CancelledError if the server gives up.
        """
        run = _Run(self, call, sink)
        try:
            await (run.respond() if call.stop is None else run.stopped())
        except asyncio.CancelledError:
            run.forget_engine_memory()
            if call.stop not in ("cancelled", "expired"):
                run.abandoned()
                raise
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            await run.stopped()
        except ConnectionLost:
            run.forget_engine_memory()
            run.abandoned()
            raise
        except LooplineError as error:
            run.forget_engine_memory()
            await run.failed(error)
        except Exception as error:
            log.error("a response failed by a fault of the service: %s", _place(error))
            run.forget_engine_memory()
            await run.failed(ServiceError("The service failed; it is not your request.", code="server_error"))


class _Run:
    """One pass. Fields are None until their step is done."""

    def __init__(self, pipeline: Pipeline, call: Call, sink: Sink) -> None:
        self._parts, self._call, self._sink = pipeline, call, sink
        self._id = call.response_id
        self._parent: Remembered | None = None
        self._checked: Checked | None = None
        self._calling: Calling | None = None
        self._prompt: steps.Prompt | None = None
        self._compaction: Compacted | None = None
        self._verdict = ALLOWED
        self._digest_tokens = 0
        self._own_tokens = False
        self._ended = False

    async def respond(self) -> None:
        parts, call, stages = self._parts, self._call, self._call.stages
        with stages.timed("state"):
            self._parent = parent = await steps.resolve_state(call, parts.store)
        with stages.timed("validate"):
            self._checked = checked = await steps.check(call, parent, parts.validator, parts.store)
        with stages.timed("screen"):
            screens, verdict = steps.screen(parts.screens, parent, checked, incremental=parts.keep_screens)
        self._verdict = verdict
        with stages.timed("route"):
            route = call.router.resolve(call.create.model)
            self._calling = calling = check_model(route.model, route.engine.capabilities, checked)
        call.steerable = route.engine.capabilities.steer and checked.settings.compact_above is None
        self._own_tokens = route.engine.capabilities.own_tokens
        window = route.engine.capabilities.context_tokens
        if window is not None:
            await self._render(checked, window)
        ladder = await self._create(checked.tools, checked.settings)
        if verdict.action is Action.BLOCK:
            raise ServiceError(verdict.message, code=verdict.code)
        if window is None:
            await self._render(checked, None)
        await self._compact(ladder, checked, window)
        goes_on = call.relation is Relation.CONTINUE and self._compaction is None
        memory = parent.memory if parent is not None and goes_on else {}
        finish: Finish | Steered = Finish()
        if not checked.compact_now:
            finish = await self._answer(ladder, checked, calling, route, memory)
        await self._conclude(ladder, checked, screens, memory, finish)

    async def stopped(self) -> None:
        """End as the shell's `stop` says."""
        if self._call.stop == "gone":
            raise ConnectionLost("the client has left")
        if self._call.stop == "expired":
            await self.failed(ServiceError("The connection's lifetime is over.", code=LIMIT_CODE, status=400))
            return
        ladder = self._call.ladder or await self._create(NO_TOOLS, None)
        usage = await self._partial_usage(ladder)
        await self._end(ladder, lambda: ladder.cancelled(usage), Outcome.CANCELLED)

    async def failed(self, error: LooplineError) -> None:
        """Tell the failure in the one way that the response's state allows."""
        ladder = self._call.ladder
        if self._ended:
            return
        if ladder is None:
            self._ended = True
            await self._sink.refuse(error)
            return
        usage = await self._partial_usage(ladder)
        await self._end(ladder, lambda: ladder.failed(error.code, error.message, usage), Outcome.FAILED)

    def abandoned(self) -> None:
        """Nobody is there to be told; what was created is still settled."""
        if self._call.ladder is not None and not self._ended:
            self._ended = True
            self._parts.settlement.start(self._bill(stored=False))

    def forget_engine_memory(self) -> None:
        """What an engine noted during a call that did not end is no longer a cache of the lane's items."""
        if self._parent is not None and self._call.relation is Relation.CONTINUE:
            self._parent.memory.clear()

    async def _create(self, tools: ToolSet, settings: Settings | None) -> Ladder:
        clock = self._parts.clock
        flag = self._verdict.code if self._verdict.action is Action.FLAG else ""
        response = echo(self._call.create, self._id, clock.wall_ns() // 1_000_000_000, tools, settings, flag)
        ladder = Ladder(
            response,
            self._call.stream_id,
            maker(self._id),
            lambda: clock.wall_ns() // 1_000_000_000,
            seal_reasoning=settings is not None and settings.seal_reasoning,
        )
        self._call.ladder = ladder
        await self._sink.send([ladder.created(), ladder.in_progress()])
        return ladder

    async def _render(self, checked: Checked, window: int | None) -> None:
        """The prompt, and the compaction that it needs. Where it may be too long, that is found before all else."""
        parts, call = self._parts, self._call
        with call.stages.timed("render"):
            prompt = await steps.render(parts.renderer, call, self._parent, checked, keep=parts.keep_tokens)
            self._compaction = steps.compaction_for(checked, prompt, window)
            if self._compaction is None:
                prompt = await steps.fitted(parts.renderer, prompt, window, truncate=checked.settings.truncate)
            self._prompt = prompt

    async def _compact(self, ladder: Ladder, checked: Checked, window: int | None) -> None:
        """Emit the compaction, and go on behind it."""
        parts, made, prompt = self._parts, self._compaction, self._prompt
        if made is None or prompt is None:
            return
        await self._sink.send(ladder.compaction(made.seal()))
        with self._call.stages.timed("render"):
            self._digest_tokens = await parts.renderer.count(made.digest)
            prompt = await steps.compacted(parts.renderer, prompt, made)
            self._prompt = await steps.fitted(parts.renderer, prompt, window, truncate=checked.settings.truncate)

    async def _answer(
        self, ladder: Ladder, checked: Checked, calling: Calling, route: Route, memory: dict[str, object]
    ) -> Finish | Steered:
        """Sample, or for a warm-up prepare only."""
        assert self._prompt is not None
        create, prompt, settings = self._call.create, self._prompt, checked.settings
        request = EngineRequest(
            response_id=self._id,
            model=route.model,
            instructions=create.instructions,
            items=prompt.context.items,
            first_new=prompt.first_new,
            tokens=Joined(prompt.header.tokens, prompt.context.tokens),
            tools=calling.tools,
            tool_choice=calling.choice,
            parallel_tool_calls=create.parallel_tool_calls is not False,
            memory=memory,
            max_output_tokens=create.max_output_tokens,
            temperature=create.temperature,
            top_p=create.top_p,
            text_format=settings.text_format,
            reasoning=settings.reasoning,
            verbosity=settings.verbosity,
            top_logprobs=settings.top_logprobs,
            must_call=calling.must,
            max_tool_calls=calling.at_most,
            offered=usable(joined(checked.tools.tools, checked.extra), route.engine.capabilities),
            cache_key=f"{self._call.owner}:{create.prompt_cache_key}" if create.prompt_cache_key else None,
        )
        if not settings.generate:
            return await route.engine.warm(request) if isinstance(route.engine, WarmingEngine) else Finish()
        budget = Budget(None if self._own_tokens else create.max_output_tokens, self._parts.tokenizer)
        guard, call = CallGuard(calling), self._call
        return await sample(route.engine, request, ladder, budget, guard, call.cut, call.stages, self._sink.send)

    async def _conclude(
        self,
        ladder: Ladder,
        checked: Checked,
        screens: States,
        memory: dict[str, object],
        finish: Finish | Steered,
    ) -> None:
        """Close the items, remember the response, end it."""
        assert self._prompt is not None
        prompt = self._prompt
        reason = finish if finish == STEERED else finish.reason
        closing = ladder.finish_items(cut=reason in (STEERED, "max_output_tokens"))
        if closing:
            await self._sink.send(closing)
        said = _said(ladder)
        with self._call.stages.timed("render"):
            rendered = await self._parts.renderer.items(said)
        usage = self._usage(prompt, said, rendered, finish if isinstance(finish, Finish) else Finish())
        remembered = Remembered(
            response_id=self._id,
            context=prompt.context.extended(said, rendered.tokens, calls_in(said)),
            tools=checked.tools,
            stored=checked.settings.store,
            header=prompt.header,
            screens=screens,
            memory=memory,
            extra=checked.extra,
            update=checked.update,
        )

        def terminal() -> Frame:
            frame = ladder.completed(usage) if reason == "stop" else ladder.incomplete(reason, usage)
            if checked.settings.store:
                self._parts.store.put(self._record(ladder, checked))
            return frame

        owed = tuple(owed_output(item) for item in said if call_id_of(item) is not None)
        head = Head(self._id, remembered, steerable=self._call.steerable is True, owed=owed)
        await self._end(ladder, terminal, Outcome.DONE, head, stored=checked.settings.store)

    async def _end(
        self,
        ladder: Ladder,
        terminal: Callable[[], Frame],
        outcome: Outcome,
        head: Head[Remembered] | None = None,
        *,
        stored: bool = False,
    ) -> None:
        """Send the last frames; settle behind them, or before them where overlapping is off."""
        settlement = self._parts.settlement
        bill = self._bill(stored=stored)
        if not settlement.overlap:
            await settlement.settle(bill)
        timing = [ladder.timing(self._call.stages.metrics())] if self._call.timing else []
        self._ended = True
        try:
            await self._sink.end([*timing, terminal()], outcome, head)
        finally:
            if settlement.overlap:
                settlement.start(bill)

    def _bill(self, *, stored: bool) -> Bill:
        prompt, checked = self._prompt, self._checked
        hosted = checked.tools.ignored if checked is not None else 0
        return Bill(
            response_id=self._id,
            connection=self._call.connection,
            lane=self._call.stream_id,
            stages=self._call.stages,
            new_tokens=prompt.size - prompt.reused if prompt is not None else 0,
            reused_tokens=prompt.reused if prompt is not None else 0,
            tools_ignored=hosted + (self._calling.unusable if self._calling is not None else 0),
            screened=self._verdict.code,
            stored=stored,
        )

    def _record(self, ladder: Ladder, checked: Checked) -> StoredResponse:
        parent = self._parent
        linked = parent is not None and parent.stored
        older = [] if linked or parent is None else [to_raw(item) for item in parent.context.items]
        return StoredResponse(
            id=self._id,
            parent=parent.response_id if parent is not None and linked else None,
            created_at=int(ladder.response.created_at),
            input=(*older, *checked.raws),
            output=tuple(ladder.response.output),
            response=encode(ladder.response),
            owner=self._call.owner,
        )

    async def _partial_usage(self, ladder: Ladder) -> Usage | None:
        """Of a response that did not end by itself; None if it was not rendered."""
        if self._prompt is None:
            return None
        said = _said(ladder)
        return self._usage(self._prompt, said, await self._parts.renderer.items(said), Finish())

    def _usage(self, prompt: steps.Prompt, said: list[AnyItem], rendered: Rendered, finish: Finish) -> Usage:
        return usage_of(
            finish,
            rendered=prompt.size,
            reused=None if self._own_tokens else prompt.reused,
            output_tokens=sum(rendered.text_tokens) + self._digest_tokens,
            reasoning_tokens=sum(
                tokens for item, tokens in zip(said, rendered.text_tokens, strict=True) if isinstance(item, Reasoning)
            ),
        )


def _said(ladder: Ladder) -> list[AnyItem]:
    """Output items that join the context. A compaction has done so already: it is what the context starts with."""
    return [item for item in ladder.items if not isinstance(item, Compaction)]


def _place(error: Exception) -> str:
    """Kind and place of an error, without its text: that may quote what a client sent."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "nowhere"
    return f"{type(error).__name__} at {where}"
