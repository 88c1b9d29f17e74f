"""A hosted session: settings, service, journal, tools and model put together, and closed in reverse order."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from agent_core.agent.approvals import Approver, Policy, nobody
from agent_core.agent.context import instructions
from agent_core.agent.history import History, SessionHeader
from agent_core.agent.limits import Limits
from agent_core.agent.session import Session, SessionParts
from agent_core.agent.updates import Front, Notice, SessionOpened, no_front
from agent_core.clock import Clock, SystemClock, new_id, rfc3339
from agent_core.config import Loaded, Settings, TransportPolicy, config_dir, load, state_dir
from agent_core.errors import UsageError
from agent_core.model.session import ModelSession
from agent_core.model.settings import ModelSettings
from agent_core.runtime.embedded import embedded_service
from agent_core.runtime.endpoint import Endpoint, choose
from agent_core.telemetry.emitter import Emitter, FanOut, Sink
from agent_core.telemetry.journal import JournalSink
from agent_core.telemetry.source import new_source
from agent_core.tools.standard import standard_toolbox
from agent_core.tools.workspace import Workspace


class HostOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to host. `flags` are settings by field name, None where not given. `resume` names an earlier session.

    `use_venv`: the user named the folder (`run -w`), so its virtual environment may run its tests. `python` overrides
    the setting. `client` names the front end in telemetry.
    """

    roots: tuple[Path, ...]
    client: str
    flags: Mapping[str, Any] = msgspec.field(default_factory=dict)
    resume: str | None = None
    use_venv: bool = False
    python: str | None = None
    env: Mapping[str, str] = msgspec.field(default_factory=lambda: dict(os.environ))


class Hosted(msgspec.Struct, frozen=True, kw_only=True):
    """A session ready for turns, and what a front end may look at."""

    session: Session
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
) -> AsyncIterator[Hosted]:
    """Yield a session that is open; whatever was started for it is gone at the end.

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
        source = new_source()
        journal = JournalSink(states, source)
        stack.callback(journal.close)
        emitter = Emitter(FanOut((journal, *sinks)), clock, source)
        history = _history(options, states / "sessions", endpoint.model, roots, clock)
        stack.callback(history.close)
        workspace = Workspace(roots)
        toolbox = standard_toolbox(
            workspace,
            python=options.python or settings.python,
            trusted=str(roots[0]) in settings.trusted,
            use_venv=options.use_venv,
            environment=options.env,
        )
        stack.push_async_callback(toolbox.close)
        if endpoint.base_url is None:
            service = await stack.enter_async_context(embedded_service(options.env, clock))
            model_settings = ModelSettings(base_url=service.base_url, api_key=service.api_key, own_service=True)
        else:
            model_settings = ModelSettings(base_url=endpoint.base_url, api_key=endpoint.api_key)
        model_settings = msgspec.structs.replace(model_settings, transport=_transport(settings))
        model = ModelSession(model_settings, clock=clock, emitter=emitter, session_id=history.header.id)
        session = Session(
            SessionParts(
                history=history,
                model=model,
                toolbox=toolbox,
                workspace=workspace,
                policy=Policy(settings.approve, settings.deny),
                approver=approver,
                limits=Limits.of(settings),
                instructions=prompt,
                roots=roots,
                emitter=emitter,
                clock=clock,
                front=front,
                client=options.client,
                project=settings.project,
                websocket_share=settings.websocket_share if settings.websocket_share < 1 else None,
            )
        )
        stack.push_async_callback(session.close)
        for key, path in loaded.ignored:
            front(Notice(severity="warning", text=f"{path}: `{key}` is ignored; a workspace may not set it"))
        front(
            SessionOpened(session=session.id, model=endpoint.model, endpoint=_shown(model_settings), note=endpoint.note)
        )
        await session.open()
        yield Hosted(session=session, workspace=workspace, loaded=loaded, endpoint=endpoint)


def _history(options: HostOptions, folder: Path, model: str, roots: tuple[Path, ...], clock: Clock) -> History:
    if options.resume is None:
        created = rfc3339(clock.wall_ns())
        header = SessionHeader(id=new_id("sess"), created=created, roots=tuple(map(str, roots)), model=model)
        return History.create(folder, header)
    if not options.resume.replace("_", "").isalnum():
        raise UsageError(f"no session is named {options.resume[:80]!r}")
    return History.load(folder / f"{options.resume}.jsonl")


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
