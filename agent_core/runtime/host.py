"""A hosted session: settings, service, journal, tools and model put together, and closed in reverse order."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from agent_core.agent.approvals import Approver, Policy, nobody
from agent_core.agent.context import instructions
from agent_core.agent.history import History, SessionHeader
from agent_core.agent.limits import Limits
from agent_core.agent.questions import Questions
from agent_core.agent.session import Session, SessionParts
from agent_core.agent.updates import Front, Notice, SessionOpened, no_front
from agent_core.clock import Clock, SystemClock, new_id, rfc3339
from agent_core.config import Loaded, Settings, TransportPolicy, config_dir, load, runtime_dir, state_dir
from agent_core.control.lock import Holder, SessionLock
from agent_core.control.messages import ControlError
from agent_core.control.server import ControlServer
from agent_core.errors import UsageError
from agent_core.model.session import ModelSession
from agent_core.model.settings import ModelSettings
from agent_core.runtime.content import content_front
from agent_core.runtime.control import HostedSessions
from agent_core.runtime.embedded import Embedded, embedded_service
from agent_core.runtime.endpoint import Endpoint, choose
from agent_core.runtime.fronts import Fronts
from agent_core.runtime.telemetry import telemetry
from agent_core.telemetry.emitter import Sink
from agent_core.tools.diagnostics import DiagnosticSource
from agent_core.tools.standard import standard_toolbox
from agent_core.tools.workspace import Documents, Workspace


class HostOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to host. `flags` are settings by field name, None where not given. `resume` names an earlier session.

    `use_venv`: the user named the folder (`run -w`), so its virtual environment may run its tests. `python` overrides
    the setting. `client` names the front end in telemetry. `remote_approvals`: an approval that the front end can't ask
    stays open until somebody answers it over the control socket; False: it is denied. `session_id` names a new session
    beforehand; None: a fresh id.
    """

    roots: tuple[Path, ...]
    client: str
    flags: Mapping[str, Any] = msgspec.field(default_factory=dict)
    resume: str | None = None
    session_id: str | None = None
    remote_approvals: bool = False
    use_venv: bool = False
    python: str | None = None
    env: Mapping[str, str] = msgspec.field(default_factory=lambda: dict(os.environ))


class Hosted(msgspec.Struct, frozen=True, kw_only=True):
    """A session ready for turns, and what a front end may look at."""

    session: Session
    fronts: Fronts
    workspace: Workspace
    loaded: Loaded
    endpoint: Endpoint


@asynccontextmanager
async def host_session(
    options: HostOptions,
    *,
    front: Front = no_front,
    approver: Approver = nobody,
    sinks: tuple[Sink, ...] = (),
    clock: Clock | None = None,
    documents: Documents | None = None,
    diagnostics: DiagnosticSource | None = None,
    service: Embedded | None = None,
) -> AsyncIterator[Hosted]:
    """Yield a session that is open; whatever was started for it is gone at the end.

    `documents` and `diagnostics` are those of an editor. `service` is an embedded service that runs already and is
    used where the settings ask for one; None: the session starts its own.

    Raises UsageError and ConfigError before anything starts, ServiceUnreachable if the embedded service does not start.
    """
    clock = clock or SystemClock()
    for root in options.roots:
        if not root.is_dir():
            raise UsageError(f"no such folder: {root}", hint="name an existing folder with --workspace")
    roots = tuple(root.resolve() for root in options.roots)
    loaded = load(workspace=roots[0], flags=options.flags, env=options.env)
    settings = loaded.settings
    endpoint = choose(settings, options.env)
    prompt = instructions(config_dir(options.env))
    states = state_dir(options.env)

    async with AsyncExitStack() as stack:
        fronts = Fronts(front)
        emitter = stack.enter_context(
            telemetry(settings, options.env, states, clock, sinks=sinks, warn=_warner(fronts))
        )
        session_id = _session_id(options)
        if settings.telemetry_content:
            fronts.add(content_front(emitter, session_id))
        lock = SessionLock(states / "sessions" / f"{session_id}.lock", _holder(clock, None))
        stack.callback(lock.release)
        history = _history(options, session_id, states / "sessions", endpoint.model, roots, clock)
        stack.callback(history.close)
        workspace = Workspace(roots, documents=documents)
        toolbox = standard_toolbox(
            workspace,
            python=options.python or settings.python,
            trusted=str(roots[0]) in settings.trusted,
            use_venv=options.use_venv,
            environment=options.env,
            diagnostics=diagnostics,
        )
        stack.push_async_callback(toolbox.close)
        if endpoint.base_url is None:
            if service is None:
                service = await stack.enter_async_context(embedded_service(options.env, clock))
            model_settings = ModelSettings(base_url=service.base_url, api_key=service.api_key, own_service=True)
        else:
            model_settings = ModelSettings(base_url=endpoint.base_url, api_key=endpoint.api_key)
        model_settings = msgspec.structs.replace(model_settings, transport=_transport(settings))
        session = Session(
            SessionParts(
                history=history,
                model=ModelSession(model_settings, clock=clock, emitter=emitter, session_id=session_id),
                toolbox=toolbox,
                workspace=workspace,
                policy=Policy(settings.approve, settings.deny),
                questions=Questions(approver, remote=options.remote_approvals),
                limits=Limits.of(settings),
                model_name=endpoint.model,
                instructions=prompt,
                roots=roots,
                emitter=emitter,
                clock=clock,
                front=fronts,
                client=options.client,
                project=settings.project,
                websocket_share=settings.websocket_share if settings.websocket_share < 1 else None,
            )
        )
        stack.push_async_callback(session.close)
        await _offer_control(stack, options, session, fronts, settings.project, lock, clock)
        for key, path in loaded.ignored:
            fronts(Notice(severity="warning", text=f"{path}: `{key}` is ignored; a workspace may not set it"))
        fronts(
            SessionOpened(session=session_id, model=endpoint.model, endpoint=_shown(model_settings), note=endpoint.note)
        )
        await session.open()
        yield Hosted(session=session, fronts=fronts, workspace=workspace, loaded=loaded, endpoint=endpoint)


async def _offer_control(
    stack: AsyncExitStack,
    options: HostOptions,
    session: Session,
    fronts: Fronts,
    project: str | None,
    lock: SessionLock,
    clock: Clock,
) -> None:
    """Offer the control socket; a session without one works, and says so once."""
    hosted = HostedSessions()
    hosted.add(session, fronts, options.client, project)
    try:
        server = await stack.enter_async_context(ControlServer(runtime_dir(options.env), hosted.handlers()))
    except (ControlError, OSError) as error:
        fronts(Notice(severity="warning", text=f"no control socket: {error}"))
        return
    stack.callback(server.end_session, session.id)
    lock.write(_holder(clock, str(server.path)))


def _warner(fronts: Fronts) -> Callable[[str], None]:
    return lambda text: fronts(Notice(severity="warning", text=text))


def _holder(clock: Clock, socket: str | None) -> Holder:
    return Holder(pid=os.getpid(), since=rfc3339(clock.wall_ns()), socket=socket)


def _session_id(options: HostOptions) -> str:
    if options.resume is None:
        return options.session_id or new_id("sess")
    if not options.resume.replace("_", "").isalnum():
        raise UsageError(f"no session is named {options.resume[:80]!r}", hint="`loopline sessions` lists them")
    return options.resume


def _history(
    options: HostOptions, session_id: str, folder: Path, model: str, roots: tuple[Path, ...], clock: Clock
) -> History:
    if options.resume is not None:
        return History.load(folder / f"{session_id}.jsonl")
    created = rfc3339(clock.wall_ns())
    return History.create(
        folder, SessionHeader(id=session_id, created=created, roots=tuple(map(str, roots)), model=model)
    )


def _transport(settings: Settings) -> TransportPolicy:
    """The policy of this session; below a share of 1 some sessions are drawn to use HTTP, for comparing."""
    if settings.transport == "auto" and random.random() >= settings.websocket_share:
        return "http"
    return settings.transport


def _shown(settings: ModelSettings) -> str:
    """The address for people: the scheme that is spoken, no credentials, no query."""
    scheme, _, rest = settings.base_url.partition("://")
    address = rest.split("/", 1)[0].rsplit("@", 1)[-1]
    spoken = "http" if settings.transport == "http" else "ws"
    return f"{spoken}{'s' if scheme in ('https', 'wss') else ''}://{address}"
