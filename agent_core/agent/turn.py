"""One turn: from a user's message to the final answer. The loop is `Turn.run`; everything else in here serves it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence

import msgspec

from agent_core.agent.calls import CANCELLED, CUT_OFF, Call, batches, calls_of, output_of, text_of
from agent_core.agent.context.compaction import TOO_LONG, Compactor
from agent_core.agent.context.context import SessionContext
from agent_core.agent.context.fragments import broken_off, message
from agent_core.agent.history import History
from agent_core.agent.inbox import Inbox
from agent_core.agent.limits import Spent, check
from agent_core.agent.notices import notice_of
from agent_core.agent.terms import TurnPolicy
from agent_core.agent.thinking import Thinking
from agent_core.agent.toolrunner import ToolRunner
from agent_core.clock import Clock, new_id
from agent_core.errors import LooplineError, ServiceError
from agent_core.model.port import CallItem, CallRequest, CallResult, Model, Restarted, TextDelta
from agent_core.telemetry.events import Status
from agent_core.tools.checks.linters import LINTERS
from agent_core.tools.port import ToolResult
from agent_core.turns import events as told
from agent_core.turns.events import Observer


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn ended.

    `text` is the final answer, or why there is none; `error` is set where the turn broke off. What it changed is
    `Workspace.net_changes`.
    """

    status: Status
    text: str
    calls: int
    tools: int
    error: LooplineError | None = None


class Turn:
    """Borrows the session's model, history and tools for its life; owns what it has spent."""

    def __init__(
        self,
        *,
        session_id: str,
        turn_id: str,
        request: CallRequest,
        history: History,
        model: Model,
        tools: ToolRunner,
        context: SessionContext,
        compactor: Compactor,
        spent: Spent,
        terms: TurnPolicy,
        clock: Clock,
        observer: Observer,
        inbox: Inbox,
    ) -> None:
        self._inbox = inbox
        self._ids = {"session_id": session_id, "turn_id": turn_id}
        self._turn, self._request, self._history = turn_id, request, history
        self._model, self._tools, self._terms = model, tools, terms
        self._context, self._compactor, self._spent = context, compactor, spent
        self._clock, self._tell = clock, observer
        self._started_ns = clock.mono_ns()
        self._thinking = Thinking(session_id, turn_id, clock)
        self._keys: set[str] = set()
        self._said: list[str] = []
        self._ran_tools = 0
        self._last_checks: str | None = None

    async def run(self) -> Outcome:
        """Loop until a reply asks for no tool and no input waits.

        Raises what ends the turn; the history is complete either way.
        """
        while True:
            self._history.append([message("user", text) for text in self._inbox.take()], self._turn)
            self._spent.wall_s = (self._clock.mono_ns() - self._started_ns) / 1e9
            check(self._spent, self._terms.limits)
            self._history.append(await self._context.before_call(), self._turn)
            items = await self._call()
            calls = calls_of(items, self._keys)
            self._keys.update(call.key for call in calls)
            if calls:
                await self._answer(calls)
            elif self._inbox.close():
                return self._outcome(text_of(items))

    async def _call(self) -> list[bytes]:
        """One model call. A context that the service finds too long is shortened, once."""
        await self._compactor.fit(self._request, self._spent)
        try:
            return await self._reply()
        except ServiceError as error:
            if error.code not in TOO_LONG:
                raise
            if not await self._compactor.shrink(self._request, self._spent, refused=True):
                raise
        return await self._reply()

    async def _reply(self) -> list[bytes]:
        """Ask, stream the reply to the front end, keep its items before anything acts on them."""
        call_id = new_id("call")
        request = msgspec.structs.replace(self._request, call=call_id)
        result: CallResult | None = None
        self._said.clear()
        self._tell(told.CallBegan(**self._ids, call_id=call_id))
        try:
            async with contextlib.aclosing(self._model.call(request)) as stream:
                async for item in stream:
                    self._show(item)
                    if isinstance(item, CallResult):
                        result = item
        except BaseException as error:
            self._keep_partial(error)
            raise
        finally:
            self._tell_all(self._thinking.end())
            inference_ms = result.timing.inference_ms if result else None
            self._tell(told.CallEnded(**self._ids, call_id=call_id, inference_ms=inference_ms))
            self._spent.call(result.usage if result else None)
        if result is None:
            raise ServiceError("the service ended a call without a result", code="no_result")
        self._history.append(result.items, self._turn)
        self._compactor.measured(result.usage, request.model)
        if text := text_of(result.items):
            self._tell(told.TextDone(**self._ids, text=text))
        if result.status == "incomplete":
            self._history.append([output_of(call, CUT_OFF) for call in calls_of(result.items)], self._turn)
            raise ServiceError(
                f"the model stopped early: {result.finish_reason}",
                code="response_incomplete",
                hint="give the next task to go on, or raise the model's output limit",
            )
        return result.items

    def _show(self, item: CallItem) -> None:
        self._tell_all(self._thinking.of(item))
        match item:
            case TextDelta(text=text):
                self._said.append(text)
                self._tell(told.TextDelta(**self._ids, text=text))
            case Restarted(cause=cause):
                self._said.clear()
                self._tell(told.TextVoided(**self._ids, cause=cause))
            case _ if (notice := notice_of(item)) is not None:
                self._tell(notice)

    def _tell_all(self, events: Iterable[told.TurnEvent]) -> None:
        for event in events:
            self._tell(event)

    def _keep_partial(self, error: BaseException) -> None:
        """The reply broke off for good: what was said of it stays in the conversation, marked."""
        if said := "".join(self._said).rstrip():
            why = error.code if isinstance(error, LooplineError) else CANCELLED
            item = broken_off(said, why)
            self._history.append([item], self._turn)
            self._tell(told.TextDone(**self._ids, text=text_of([item])))

    async def _answer(self, calls: Sequence[Call]) -> None:
        """Run the calls of one reply, reads side by side and the rest in order; each gets its output item."""
        pending = {call.key: call for call in calls}
        notes: list[bytes] = []
        try:
            for batch in batches(calls, self._tools.kinds):
                results = await asyncio.gather(*(self._tools.run(call) for call in batch))
                for call, result in zip(batch, results, strict=True):
                    self._history.append([output_of(call, result.output)], self._turn)
                    del pending[call.key]
                    notes += self._note(call, result)
        finally:
            left = [output_of(call, self._tools.left_by(call) or CANCELLED) for call in pending.values()]
            self._history.append([*left, *notes], self._turn)

    def _note(self, call: Call, result: ToolResult) -> list[bytes]:
        """Count a result; what is to be told beside it."""
        self._ran_tools += 1
        self._spent.tool_result(f"{call.name} {call.arguments} {result.output}", result.status == "error")
        if call.name == "checks" and result.data.get("runner") not in LINTERS:
            self._last_checks = str(result.data.get("status", result.status))
        return self._context.after_tool(call, result)

    def _outcome(self, text: str) -> Outcome:
        """A turn whose last checks failed, found nothing or could not run has not done its job, whatever it says."""
        status: Status = "completed" if self._last_checks in (None, "passed") else "failed"
        return self.report(status, text)

    def report(self, status: Status, text: str, error: LooplineError | None = None) -> Outcome:
        return Outcome(
            status=status,
            text=text,
            calls=self._spent.calls,
            tools=self._ran_tools,
            error=error,
        )
