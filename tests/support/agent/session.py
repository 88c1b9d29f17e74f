"""A session of the agent put together by hand: real tools on real files, a scripted service, no host around it."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from agent_core.agent.approvals.pending import PendingApprovals
from agent_core.agent.approvals.policy import Approver, Policy, nobody
from agent_core.agent.context.compaction import Compactor
from agent_core.agent.context.context import SessionContext
from agent_core.agent.context.environment import EnvironmentContext
from agent_core.agent.history import History, SessionHeader
from agent_core.agent.limits import Limits
from agent_core.agent.recorder import Recorder
from agent_core.agent.session import Session, SessionParts
from agent_core.agent.terms import TurnPolicy
from agent_core.config.settings import Approve
from agent_core.model.capabilities import ModelBook
from agent_core.model.session import ModelSession
from agent_core.model.settings import ModelSettings
from agent_core.telemetry.emitter import Emitter, ListSink
from agent_core.telemetry.rollup.prices import LIST_PRICES, PriceTable
from agent_core.tools.editor.diagnostics import DiagnosticSource
from agent_core.tools.port import ToolContext, ToolResult
from agent_core.tools.sandbox.sandbox import Sandbox, find_sandbox
from agent_core.tools.standard import standard_toolbox
from agent_core.tools.toolbox import Toolbox
from agent_core.tools.workspace.workspace import Documents, Workspace
from agent_core.turns.events import Notice, TurnEvent
from tests.support.model.session import JumpingClock

U = TypeVar("U", bound=TurnEvent)


class CountingToolbox:
    """Hands everything on to a toolbox and counts the runs per tool call."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox
        self.runs: Counter[str] = Counter()
        self.before: Callable[[], Awaitable[None]] | None = None
        """Done before each run."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._toolbox, name)

    async def run(self, name: str, arguments_json: str, context: ToolContext) -> ToolResult:
        self.runs[context.tool_call] += 1
        if self.before is not None:
            await self.before()
        return await self._toolbox.run(name, arguments_json, context)


class Worker:
    """A session and everything a test may look at."""

    def __init__(self, session: Session, parts: SessionParts, toolbox: CountingToolbox, sink: ListSink) -> None:
        self.session, self.parts, self.toolbox, self.sink = session, parts, toolbox, sink
        self.updates: list[TurnEvent] = []
        self.changed = asyncio.Event()

    @property
    def clock(self) -> JumpingClock:
        assert isinstance(self.parts.clock, JumpingClock)
        return self.parts.clock

    @property
    def items(self) -> list[dict[str, Any]]:
        """The whole history, decoded."""
        return [json.loads(raw) for raw in self.parts.history.items.raw(0)]

    @property
    def context(self) -> list[dict[str, Any]]:
        """What a full input has."""
        return [json.loads(raw) for raw in self.parts.history.context()]

    @property
    def notices(self) -> list[str]:
        return [update.text for update in self.updates if isinstance(update, Notice)]

    def seen(self, kind: type[U]) -> list[U]:
        return [update for update in self.updates if isinstance(update, kind)]

    async def until(self, kind: type[U]) -> U:
        """Wait for an update of `kind`."""
        async with asyncio.timeout(20):
            while not (found := self.seen(kind)):
                self.changed.clear()
                await self.changed.wait()
        return found[0]


@asynccontextmanager
async def working(
    base_url: str,
    folder: Path,
    *,
    approve: Approve = "auto",
    approver: Approver = nobody,
    remote: bool = False,
    limits: Limits | None = None,
    prices: PriceTable = LIST_PRICES,
    compact_at: int = 0,
    in_band: bool = False,
    resume: str | None = None,
    documents: Documents | None = None,
    diagnostics: DiagnosticSource | None = None,
    model: str = "m",
    options: dict[str, Any] | None = None,
    book: ModelBook | None = None,
    sandbox: bool = False,
    **settings: Any,
) -> AsyncIterator[Worker]:
    """A session in `folder/project`, with its history in `folder/sessions`; further `settings` are the model port's.

    The environment is this process's, without what points git elsewhere.
    """
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    clock, sink = JumpingClock(), ListSink()
    emitter = Emitter(sink, clock, "test")
    if resume is not None:
        history = History.load(folder / "sessions" / f"{resume}.jsonl")
    else:
        header = SessionHeader(id="sess_1", created="", roots=(str(project),), model=model)
        history = History.create(folder / "sessions", header)
    workspace = Workspace([project], documents=documents)
    box = Sandbox(find_sandbox(environment), workspace, environment) if sandbox else None
    toolbox = CountingToolbox(
        standard_toolbox(workspace, environment=environment, diagnostics=diagnostics, background=sandbox, sandbox=box)
    )
    port = ModelSession(
        ModelSettings(**({"base_url": base_url, "api_key": "sk-test"} | settings)),
        clock=clock,
        emitter=emitter,
        session_id="sess_1",
        jitter=lambda: 1.0,
    )

    recorder = Recorder(emitter, clock)

    def observe(event: TurnEvent) -> None:
        recorder(event)
        worker.updates.append(event)
        worker.changed.set()

    context = SessionContext(workspace, EnvironmentContext(workspace, environment, documents, diagnostics))
    parts = SessionParts(
        history=history,
        context=context,
        compactor=Compactor(
            history=history,
            model=port,
            context=context,
            observer=observe,
            at_tokens=compact_at,
            in_band=in_band,
            book=book,
        ),
        model=port,
        toolbox=toolbox,  # type: ignore[arg-type]  # all of its methods, by delegation
        workspace=workspace,
        terms=TurnPolicy(policy=Policy(approve), limits=limits or Limits(), prices=prices),
        approvals=PendingApprovals(approver, remote=remote),
        model_name=model,
        instructions="Be brief.",
        roots=(project,),
        emitter=emitter,
        clock=clock,
        observer=observe,
        client="test",
        options=options or {},
        book=book or ModelBook(),
    )
    worker = Worker(Session(parts), parts, toolbox, sink)
    try:
        async with asyncio.timeout(100):
            await worker.session.open()
            yield worker
    finally:
        await worker.session.close()
        await toolbox.close()
