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

import msgspec

from agent_core.clock import Clock
from agent_core.errors import ConnectionLost, EngineError, LooplineError, ServiceError, WireError
from agent_core.protocol.lanes import Head, Outcome, Relation
from agent_core.protocol.server_connection import LIMIT_CODE
from agent_core.responses_server.conversation.item_ids import maker
from agent_core.responses_server.conversation.sealing import Sealer
from agent_core.responses_server.engine import EngineRequest, Finish, WarmingEngine
from agent_core.responses_server.ledger.port import STATUSES, Intent, Status
from agent_core.responses_server.output.accounting import usage_of
from agent_core.responses_server.output.echo import echo
from agent_core.responses_server.output.event_builder import EventBuilder, Frame
from agent_core.responses_server.output.open_items import owed_output
from agent_core.responses_server.pipeline import steps
from agent_core.responses_server.pipeline.active import Call
from agent_core.responses_server.pipeline.engine_request import engine_request
from agent_core.responses_server.pipeline.intake import Intake
from agent_core.responses_server.pipeline.recording import record_of
from agent_core.responses_server.pipeline.routing import Route
from agent_core.responses_server.pipeline.sampling import STEERED, Budget, CallGuard, Steered, sample
from agent_core.responses_server.pipeline.settlement import Settlement, UsageRecord
from agent_core.responses_server.pipeline.writer import Sink
from agent_core.responses_server.rendering.renderer import Rendered, Renderer
from agent_core.responses_server.rendering.tokenizer import Tokenizer
from agent_core.responses_server.request.calling import Calling
from agent_core.responses_server.request.offer import check_model
from agent_core.responses_server.request.options import Settings
from agent_core.responses_server.request.toolset import NO_TOOLS, ToolSet
from agent_core.responses_server.request.validation import Checked, Validator
from agent_core.responses_server.screening.chain import Screens
from agent_core.responses_server.state.chain import ChainState, calls_in, size_of
from agent_core.responses_server.store.port import ResponseStore
from agent_core.wire.codec import to_raw
from agent_core.wire.items import AnyItem, Compaction, Reasoning, call_id_of
from agent_core.wire.response import Usage

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pipeline:
    """The parts that all responses share.

    `sealer` has the secret of the store once that is open.

    `keep_state`, `keep_tokens`, `keep_screens`: whether earlier work is reused. `overlap_screens`, `late_render`:
    whether long screening and rendering may go on behind the first event.
    """

    clock: Clock
    store: ResponseStore
    validator: Validator
    screens: Screens
    renderer: Renderer
    tokenizer: Tokenizer
    settlement: Settlement
    sealer: Sealer
    keep_state: bool = True
    keep_tokens: bool = True
    keep_screens: bool = True
    overlap_screens: bool = True
    late_render: bool = True

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
                await run.abandoned()
                raise
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            await run.stopped()
        except ConnectionLost:
            run.forget_engine_memory()
            await run.abandoned()
            raise
        except LooplineError as error:
            run.forget_engine_memory()
            await run.failed(error)
        except Exception as error:
            log.error("a response failed by a fault of the service: %s", _place(error))
            run.forget_engine_memory()
            await run.failed(ServiceError("The service failed; it is not your request.", code="server_error"))
        finally:
            await run.close()


class _Run:
    """One pass. Fields are None until their step is done."""

    def __init__(self, pipeline: Pipeline, call: Call, sink: Sink) -> None:
        self._parts, self._call, self._sink = pipeline, call, sink
        self._id = call.response_id
        self._seal = pipeline.sealer.of(call.owner)
        self._parent: ChainState | None = None
        self._checked: Checked | None = None
        self._calling: Calling | None = None
        self._intent: Intent | None = None
        self._request: EngineRequest | None = None
        self._digest_tokens = 0
        self._joined = 0
        self._own_tokens = False
        self._ended = False
        self._intake = Intake(
            call,
            pipeline.screens,
            pipeline.renderer,
            keep_tokens=pipeline.keep_tokens,
            keep_screens=pipeline.keep_screens,
            overlap=pipeline.overlap_screens,
        )

    async def respond(self) -> None:
        parts, call, stages, intake = self._parts, self._call, self._call.stages, self._intake
        with stages.timed("state"):
            self._parent = parent = await steps.resolve_state(call, parts.store, self._seal, keep=parts.keep_state)
        with stages.timed("validate"):
            self._checked = checked = await steps.check(call, parent, parts.validator, parts.store, self._seal)
            if call.rollout is not None and checked.settings.store:
                raise WireError("A rollout is not stored; send store: false.", param="store")
        with stages.timed("route"):
            route = call.router.resolve(call.create.model)
            self._calling = calling = check_model(route.model, route.engine.capabilities, checked)
        capabilities, window = route.engine.capabilities, route.engine.capabilities.context_tokens
        call.steerable = capabilities.steer and checked.settings.compact_above is None and call.rollout is None
        self._own_tokens = capabilities.own_tokens
        intake.begin(parent, checked)
        if window is not None or not parts.late_render:
            await intake.render(window)
        ladder = await self._create(checked.tools, checked.settings)
        if capabilities.takes_tokens or checked.compact_now or checked.settings.compact_above is not None:
            await intake.render(window)
        intake.render_beside()
        await intake.judged(ladder)
        await self._compact(ladder, window)
        goes_on = call.relation is Relation.CONTINUE and intake.compaction is None
        memory = parent.memory if parent is not None and goes_on and parent.engine is route.engine else {}
        finish: Finish | Steered = Finish()
        if not checked.compact_now:
            finish = await self._answer(ladder, checked, calling, route, memory)
            while await self._waited(ladder, finish, window):
                finish = await self._answer(ladder, checked, calling, route, memory)
        await self._conclude(ladder, checked, route, memory, finish)

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
            self._parts.settlement.refused(error.code)
            await self._sink.refuse(error)
            return
        usage = await self._partial_usage(ladder)
        pause_s = error.retry_after_s if isinstance(error, ServiceError | EngineError) else None
        await self._end(ladder, lambda: ladder.failed(error.code, error.message, usage, pause_s), Outcome.FAILED)

    async def abandoned(self) -> None:
        """Nobody is there to be told; what was created and produced is still settled.

        Called while the task is being cancelled: it waits for nothing but the counting of what was said.
        """
        ladder = self._call.ladder
        if ladder is None or self._ended:
            return
        self._ended = True
        try:
            ladder.response.usage = await self._partial_usage(ladder)
        except asyncio.CancelledError:
            log.warning("a response was given up before its tokens were counted")
        bill, settlement = self._bill(ladder, "abandoned"), self._parts.settlement
        settlement.charge(bill)
        settlement.start(bill)

    def forget_engine_memory(self) -> None:
        """What an engine noted during a call that did not end is no longer a cache of the lane's items."""
        if self._parent is not None and self._call.relation is Relation.CONTINUE:
            self._parent.memory.clear()

    async def _create(self, tools: ToolSet, settings: Settings | None) -> EventBuilder:
        clock = self._parts.clock
        response = echo(
            self._call.create, self._id, clock.wall_ns() // 1_000_000_000, tools, settings, self._intake.flag
        )
        ladder = EventBuilder(
            response,
            self._call.stream_id,
            maker(self._id),
            lambda: clock.wall_ns() // 1_000_000_000,
            seal=self._seal if settings is not None and settings.seal_reasoning else None,
        )
        with self._call.stages.timed("admission"):
            self._intent = self._parts.settlement.admit(
                self._id,
                key=self._call.owner,
                model=self._call.create.model or "",
                connection=self._call.connection,
                lane=self._call.stream_id,
            )
        self._call.ladder = ladder
        await self._sink.send([ladder.created(), ladder.in_progress()])
        # What is ready together leaves together; these two are not to wait for what a fast engine says.
        await asyncio.sleep(0)
        self._call.stages.first_event()
        return ladder

    async def close(self) -> None:
        """End what still goes on beside the response."""
        await self._intake.close()

    async def _compact(self, ladder: EventBuilder, window: int | None) -> None:
        """Emit the compaction, and go on behind it."""
        made = self._intake.compaction
        if made is not None:
            await self._sink.send(ladder.compaction(await steps.sealed(made, self._seal)))
            self._digest_tokens = await self._intake.compact(made, window)

    async def _answer(
        self, ladder: EventBuilder, checked: Checked, calling: Calling, route: Route, memory: dict[str, object]
    ) -> Finish | Steered:
        """Sample, or for a warm-up prepare only."""
        create, settings, prompt = self._call.create, checked.settings, self._intake.prompt
        assert prompt is not None
        self._request = request = engine_request(self._call, route, calling, checked, prompt, memory)
        if not settings.generate:
            return await route.engine.warm(request) if isinstance(route.engine, WarmingEngine) else Finish()
        budget = Budget(None if self._own_tokens else create.max_output_tokens, self._parts.tokenizer)
        guard, call = CallGuard(calling), self._call
        return await sample(route.engine, request, ladder, budget, guard, call.cut, call.stages, self._sink.send)

    async def _waited(self, ladder: EventBuilder, finish: Finish | Steered, window: int | None) -> bool:
        """In a rollout: wait for the outputs of its calls. False: none were made, or this is no rollout."""
        rollout, parts, intake = self._call.rollout, self._parts, self._intake
        if rollout is None or not isinstance(finish, Finish) or finish.reason != "stop":
            return False
        closing, said = ladder.finish_items(cut=False), _said(ladder)[self._joined :]
        waits = any(call_id_of(item) is not None for item in said)
        if waits:
            rollout.pause()
        await self._sink.send([*closing, *([ladder.paused()] if waits else [])])
        if not waits:
            return False
        raw = await rollout.given()
        prompt = (await intake.followed()).followed(*said)
        with self._call.stages.timed("validate"):
            given = parts.validator.appended(raw, prompt.context)
        intake.prompt = prompt.followed(*given.items)
        self._joined += len(said)
        await intake.screen_more([*said, *given.items])
        await intake.judged(ladder)
        if window is not None:
            await intake.render(window)
        return True

    async def _conclude(
        self, ladder: EventBuilder, checked: Checked, route: Route, memory: dict[str, object], finish: Finish | Steered
    ) -> None:
        """Close the items, remember the response, end it."""
        reason = finish if finish == STEERED else finish.reason
        closing = ladder.finish_items(cut=reason in (STEERED, "max_output_tokens"))
        if closing:
            await self._sink.send(closing)
        said = _said(ladder)[self._joined :]
        prompt = await self._intake.rendered()
        assert prompt is not None
        with self._call.stages.timed("render"):
            rendered = await self._parts.renderer.items(said)
        usage = await self._usage(prompt, ladder, rendered, finish if isinstance(finish, Finish) else Finish())
        await self._intake.screen_more(said)
        context = prompt.context.extended(said, rendered.tokens, calls_in(said))
        new = checked.raws if self._intake.compaction is None else [to_raw(item) for item in prompt.context.items]
        before = self._parent.size if self._parent is not None and self._intake.compaction is None else 0
        remembered = ChainState(
            response_id=self._id,
            context=context,
            size=before + size_of(new, ladder.response.output),
            tools=checked.tools,
            stored=checked.settings.store,
            header=prompt.header,
            screens=self._intake.states,
            memory=memory,
            engine=route.engine,
            extra=checked.extra,
            update=checked.update,
        )

        def terminal() -> Frame:
            frame = ladder.completed(usage) if reason == "stop" else ladder.incomplete(reason, usage)
            if checked.settings.store:
                self._parts.store.put(record_of(self._call, self._parent, checked, ladder.response))
            return frame

        owed = tuple(owed_output(item) for item in said if call_id_of(item) is not None)
        head = Head(self._id, remembered, steerable=self._call.steerable is True, owed=owed)
        await self._end(ladder, terminal, Outcome.DONE, head, stored=checked.settings.store)

    async def _end(
        self,
        ladder: EventBuilder,
        terminal: Callable[[], Frame],
        outcome: Outcome,
        head: Head[ChainState] | None = None,
        *,
        stored: bool = False,
    ) -> None:
        """Send the last frames; settle behind them, or before them where overlapping is off."""
        settlement = self._parts.settlement
        timing = [ladder.timing(self._call.stages.metrics())] if self._call.timing else []
        frames = [*timing, terminal()]
        bill = self._bill(ladder, STATUSES[ladder.response.status or ""], stored=stored)
        self._ended = True
        settlement.charge(bill)
        if not settlement.overlap:
            await settlement.settle(bill)
        try:
            await self._sink.end(frames, outcome, head)
        finally:
            if settlement.overlap:
                settlement.start(bill)

    def _bill(self, ladder: EventBuilder, status: Status, *, stored: bool = False) -> UsageRecord:
        assert self._intent is not None
        prompt, checked = self._intake.prompt, self._checked
        hosted = checked.tools.ignored if checked is not None else 0
        return UsageRecord(
            intent=self._intent,
            status=status,
            usage=ladder.response.usage,
            error_code=ladder.response.error.code if ladder.response.error is not None else "",
            stages=self._call.stages,
            new_tokens=prompt.size - prompt.reused if prompt is not None and prompt.rendered else 0,
            reused_tokens=prompt.reused if prompt is not None else 0,
            tools_ignored=hosted + (self._calling.unusable if self._calling is not None else 0),
            screened=self._intake.verdict.code,
            stored=stored,
        )

    async def _partial_usage(self, ladder: EventBuilder) -> Usage | None:
        """Of a response that did not end by itself, by what it had said; None if nothing was looked at yet.

        Where the input is still being rendered, its tokens are an estimate.
        """
        prompt = await self._intake.rendered_by_now() or self._intake.prompt
        if prompt is None:
            return None
        rendered = await self._parts.renderer.items(_said(ladder)[self._joined :])
        spent = self._request.spent if self._request is not None else Finish()
        if not prompt.rendered and spent.input_tokens is None:
            spent = msgspec.structs.replace(spent, input_tokens=prompt.estimate)
        return await self._usage(prompt, ladder, rendered, spent)

    async def _usage(self, prompt: steps.Prompt, ladder: EventBuilder, rendered: Rendered, finish: Finish) -> Usage:
        """`rendered`: what was said last; what was said in earlier rounds of a rollout is in the prompt by now.

        What did not end counts as well: it was produced.
        """
        said = [*_said(ladder), *ladder.unfinished]
        counts = rendered.text_tokens
        if self._joined:
            counts = [*(await self._parts.renderer.items(said[: self._joined])).text_tokens, *counts]
        if ladder.unfinished:
            counts = [*counts, *(await self._parts.renderer.items(ladder.unfinished)).text_tokens]
        return usage_of(
            finish,
            rendered=prompt.size,
            reused=None if self._own_tokens else prompt.reused,
            output_tokens=sum(counts) + self._digest_tokens,
            reasoning_tokens=sum(
                tokens for item, tokens in zip(said, counts, strict=True) if isinstance(item, Reasoning)
            ),
        )


def _said(ladder: EventBuilder) -> list[AnyItem]:
    """Output items that join the context. A compaction has done so already: it is what the context starts with."""
    return [item for item in ladder.items if not isinstance(item, Compaction)]


def _place(error: Exception) -> str:
    """Kind and place of an error, without its text: that may quote what a client sent."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "nowhere"
    return f"{type(error).__name__} at {where}"
