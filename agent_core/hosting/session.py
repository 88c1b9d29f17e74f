"""A hosted session: settings, service, journal, tools and model put together, and closed in reverse order."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from agent_core.agent.approvals.grants import Grants
from agent_core.agent.approvals.pending import PendingApprovals
from agent_core.agent.approvals.policy import Approver, Policy, nobody
from agent_core.agent.approvals.questions import PendingQuestions
from agent_core.agent.checkpoints.checkpoints import Checkpoints
from agent_core.agent.checkpoints.store import Store
from agent_core.agent.context.compaction import Compactor
from agent_core.agent.context.context import SessionContext, instructions
from agent_core.agent.context.environment import EnvironmentContext
from agent_core.agent.history import History, SessionHeader
from agent_core.agent.limits import Limits
from agent_core.agent.recorder import Recorder
from agent_core.agent.session import Session, SessionParts
from agent_core.agent.terms import TurnPolicy
from agent_core.clock import Clock, SystemClock, new_id, rfc3339
from agent_core.config.load import Loaded, load, settings_files
from agent_core.config.paths import config_dir, runtime_dir, state_dir
from agent_core.config.settings import Settings
from agent_core.control.lock import Holder, SessionLock
from agent_core.control.messages import ControlError
from agent_core.control.server import ControlServer
from agent_core.errors import UsageError
from agent_core.hosting.content import content_observer
from agent_core.hosting.control import HostedSession, HostedSessions
from agent_core.hosting.observers import EventTap, Observers
from agent_core.hosting.reload import FileWatch, KeptRules, Reloader
from agent_core.hosting.resume import as_it_was, check_id, read_header, roots_of
from agent_core.keys import origin_of
from agent_core.model.session import ModelSession
from agent_core.runtime.connect import compacts_in_band, create_options, model_book, model_settings, shown
from agent_core.runtime.embedded import Embedded, embedded_service
from agent_core.runtime.endpoint import EMBEDDED_URL, Endpoint, choose, completed
from agent_core.runtime.telemetry import telemetry
from agent_core.telemetry.emitter import Sink
from agent_core.telemetry.rollup.prices import LIST_PRICES
from agent_core.text import kept_name
from agent_core.tools.commands.environment import command_environment
from agent_core.tools.commands.process_family import of_a_command
from agent_core.tools.editor.diagnostics import DiagnosticSource
from agent_core.tools.mcp.server import Place
from agent_core.tools.mcp.servers import Servers
from agent_core.tools.mcp.settings import read_servers
from agent_core.tools.sandbox.guarantees import missing
from agent_core.tools.sandbox.sandbox import Found, Sandbox, find_sandbox
from agent_core.tools.standard import standard_toolbox
from agent_core.tools.workspace.guarded import GuardRules
from agent_core.tools.workspace.workspace import Documents, Workspace
from agent_core.turns.events import Notice, Observer, SessionOpened, nobody_looks
from agent_core.turns.question import Replier
from agent_core.variables import variables

NO_SANDBOX = "no sandbox holds here: commands can do what you can do, and nothing asks"


class HostOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to host. `flags` are settings by field name, None where not given. `resume` names an earlier session;
    `as_it_was`: it keeps its model and service where neither a flag nor a variable names others, and its folders where
    `roots` is empty. `added` are folders beside them.

    `use_venv`: the user named the folder (`run -w`), so its virtual environment may run its tests. `client` names the
    front end in telemetry. `remote_approvals`: an approval that the front end can't ask stays open until somebody
    answers it over the control socket; False: it is denied. `remote_turns`: others may start turns over it; False: the
    host ends after its own. `session_id` names a new session beforehand; None: a fresh id.
    """

    roots: tuple[Path, ...]
    client: str
    added: tuple[Path, ...] = ()
    flags: Mapping[str, Any] = msgspec.field(default_factory=dict)
    resume: str | None = None
    as_it_was: bool = False
    session_id: str | None = None
    remote_approvals: bool = False
    remote_turns: bool = True
    use_venv: bool = False
    env: Mapping[str, str] = msgspec.field(default_factory=variables)


class Hosted(msgspec.Struct, frozen=True, kw_only=True):
    """A session ready for turns, and what a front end may look at. `others` knows who else follows it."""

    session: Session
    observers: Observers
    others: HostedSessions
    workspace: Workspace
    loaded: Loaded
    endpoint: Endpoint


@asynccontextmanager
async def host_session(
    options: HostOptions,
    *,
    observer: Observer = nobody_looks,
    approver: Approver = nobody,
    sinks: tuple[Sink, ...] = (),
    clock: Clock | None = None,
    documents: Documents | None = None,
    diagnostics: DiagnosticSource | None = None,
    service: Callable[[], Awaitable[Embedded]] | None = None,
    rules: KeptRules | None = None,
    replier: Replier | None = None,
) -> AsyncIterator[Hosted]:
    """Yield a session that is open; whatever was started for it is gone at the end.

    `documents` and `diagnostics` are those of an editor. `service` gives an embedded service that others use as well,
    and is asked where the settings want one; None: the session starts its own. `rules` are those of a session that is
    opened anew; None: it begins. `replier` is asked what the model asks; None: it can ask nothing.

    Raises UsageError and ConfigError before anything starts, ServiceUnreachable if the embedded service does not start.
    """
    clock = clock or SystemClock()
    states = state_dir(options.env)
    session_id = check_id(options.resume) if options.resume else options.session_id or new_id("sess")
    header = read_header(states / "sessions", session_id) if options.resume and options.as_it_was else None
    roots = roots_wanted(options, header)
    loaded = load(workspace=roots[0], flags=options.flags, env=options.env)
    if header is not None:
        loaded = as_it_was(loaded, header, states / "sessions" / f"{session_id}.jsonl")
    rules = rules or KeptRules()
    loaded = rules.begin(loaded)
    settings = loaded.settings
    endpoint = await completed(choose(settings, options.env), before=header.model if header is not None else "")
    terms_of(settings)  # what can't be used is told before anything starts
    book = model_book(endpoint, settings)
    if settings.effort is not None and loaded.origins["effort"].layer == "flag":
        book.of(endpoint.model).check_effort(settings.effort)
    servers = read_servers(settings.mcp)
    prompt = instructions(config_dir(options.env))
    found = await asyncio.to_thread(find_sandbox, options.env, tuple(map(str, roots)))

    async with AsyncExitStack() as stack:
        observers, tap = Observers(observer), EventTap()
        emitter = stack.enter_context(
            telemetry(settings, options.env, states, clock, sinks=(*sinks, tap), warn=_warner(observers))
        )
        observers.add(Recorder(emitter, clock), first=True)
        if settings.telemetry_content:
            observers.add(content_observer(emitter, session_id))
        lock = SessionLock(states / "sessions" / f"{session_id}.lock", _holder(clock, None))
        stack.callback(lock.release)
        history = _history(options, session_id, states / "sessions", endpoint, roots, clock)
        stack.callback(history.close)
        workspace = Workspace(roots, documents=documents, guards=GuardRules(settings.guarded), held=rules.closed)
        store = Store(states / "checkpoints", session_id, settings.checkpoint_mb * 1_000_000)
        stack.callback(store.close)
        trusted = str(roots[0]) in settings.trusted
        place = Place(
            roots=lambda: workspace.roots,
            environment=command_environment(options.env, trusted=trusted, named=settings.environment),
            user_environment=options.env,
            tell=_warner(observers),
        )
        gaps = gaps_of(settings, found)
        grants = Grants(states / "sessions" / f"{session_id}.grants")
        toolbox = standard_toolbox(
            workspace,
            python=settings.python,
            trusted=trusted,
            use_venv=options.use_venv,
            environment=options.env,
            named_variables=settings.environment,
            diagnostics=diagnostics,
            sandbox=_sandbox(settings, found, workspace, options.env),
            source=Servers(servers, place) if servers else None,
            background=True,
        )
        stack.push_async_callback(toolbox.close)
        embedded: Embedded | None = None
        if endpoint.base_url is None:
            starting: Awaitable[Embedded]
            if service is None or endpoint.upstream is not None:
                asked = endpoint.upstream
                upstream = None if asked is None else (endpoint.model, asked.url, asked.api_key)
                starting = stack.enter_async_context(embedded_service(options.env, clock, upstream=upstream))
            else:
                starting = service()
            embedded = await starting
        reached = model_settings(endpoint, embedded, settings, session_id)
        model = ModelSession(reached, clock=clock, emitter=emitter, session_id=session_id)
        surroundings = EnvironmentContext(workspace, options.env, documents, diagnostics)
        stack.callback(surroundings.close)
        context = SessionContext(workspace, surroundings)
        session = Session(
            SessionParts(
                history=history,
                context=context,
                compactor=Compactor(
                    history=history,
                    model=model,
                    context=context,
                    observer=observers,
                    at_tokens=0 if endpoint.note else settings.compact_at,
                    in_band=compacts_in_band(endpoint, settings),
                    book=book,
                ),
                model=model,
                toolbox=toolbox,
                workspace=workspace,
                checkpoints=Checkpoints(
                    store, workspace, lambda text: observers(Notice(severity="warning", text=text))
                ),
                terms=terms_of(settings, workspace, grants, gaps),
                approvals=PendingApprovals(
                    approver,
                    name=options.client,
                    remote=options.remote_approvals,
                    timeout_s=settings.approval_timeout_s,
                ),
                questions=PendingQuestions(replier, name=options.client, timeout_s=settings.approval_timeout_s),
                model_name=endpoint.model,
                instructions=prompt,
                roots=roots,
                emitter=emitter,
                clock=clock,
                observer=observers,
                client=options.client,
                project=settings.project,
                websocket_share=settings.websocket_share if settings.websocket_share < 1 else None,
                options=create_options(endpoint, settings, session_id),
                book=book,
                effort=settings.effort,
                reasoning_summary=settings.reasoning_summary == "auto",
            )
        )
        reloader = _reloader(
            options, roots[0], rules, header, session, observers, lambda new: terms_of(new, workspace, grants, gaps)
        )
        workspace.confirming = reloader.confirming
        watch = FileWatch(settings_files(options.env, roots[0]), reloader.reload)
        stack.push_async_callback(watch.join)
        stack.push_async_callback(session.close)
        shared = HostedSession(
            session=session,
            observers=observers,
            events=tap,
            client=options.client,
            project=settings.project,
            starts=options.remote_turns,
        )
        others = HostedSessions(shared)
        stack.push_async_callback(others.join)
        await _offer_control(stack, runtime_dir(options.env), shared, others, lock, clock)
        for key, path in loaded.ignored:
            observers(Notice(severity="warning", text=f"{path}: `{key}` is ignored; a workspace may not set it"))
        observers(
            SessionOpened(
                session_id=session_id,
                model=endpoint.model,
                endpoint=shown(reached) if endpoint.upstream is None else origin_of(endpoint.upstream.url),
                note=endpoint.note,
            )
        )
        if endpoint.defaulted:
            text = f"no model is named: {endpoint.model}, the default of {endpoint.defaulted}; --model names another"
            observers(Notice(severity="info", text=text))
        if settings.sandbox == "auto" and settings.approve == "auto" and found.kind == "none":
            observers(Notice(severity="warning", text=NO_SANDBOX))
        await asyncio.gather(session.open(), workspace.hold())
        watch.start()
        stack.callback(watch.stop)
        yield Hosted(
            session=session, observers=observers, others=others, workspace=workspace, loaded=loaded, endpoint=endpoint
        )


async def _offer_control(
    stack: AsyncExitStack, folder: Path, shared: HostedSession, others: HostedSessions, lock: SessionLock, clock: Clock
) -> None:
    """Offer the control socket; a session without one works, and says so once."""
    try:
        server = await stack.enter_async_context(ControlServer(folder, others.handlers(), of_a_command))
    except (ControlError, OSError) as error:
        shared.observers(Notice(severity="warning", text=f"no control socket: {error}"))
        return
    stack.callback(server.end_session, shared.session.id)
    lock.write(_holder(clock, str(server.path)))


def _reloader(
    options: HostOptions,
    workspace: Path,
    rules: KeptRules,
    header: SessionHeader | None,
    session: Session,
    observers: Observers,
    terms: Callable[[Settings], TurnPolicy],
) -> Reloader:
    """Settings files as they change, applied to the session where that is possible."""

    def load_again() -> Loaded:
        again = load(workspace=workspace, flags=options.flags, env=options.env)
        return again if header is None else as_it_was(again, header, Path(header.id))

    def apply(settings: Settings) -> None:
        session.change_terms(terms(settings))
        session.use_effort(settings.effort, summary=settings.reasoning_summary == "auto")
        if settings.model is not None and settings.model != session.model:
            session.use_model(settings.model)

    def tell(text: str, wrong: bool) -> None:
        observers(Notice(severity="error" if wrong else "info", text=text))

    return Reloader(rules, load_again, apply, tell)


def _sandbox(settings: Settings, found: Found, workspace: Workspace, env: Mapping[str, str]) -> Sandbox | None:
    if settings.sandbox == "off" or found.kind == "none":
        return None
    return Sandbox(found, workspace, env, network=settings.sandbox_network, visible=settings.sandbox_visible)


def _warner(observers: Observers) -> Callable[[str], None]:
    return lambda text: observers(Notice(severity="warning", text=text))


def _holder(clock: Clock, socket: str | None) -> Holder:
    return Holder(pid=os.getpid(), since=rfc3339(clock.wall_ns()), socket=socket)


def gaps_of(settings: Settings, found: Found) -> tuple[str, ...]:
    """What the sandbox that is asked for does not hold of its guarantees. With none at all `auto` goes on and tells."""
    if settings.sandbox == "off" or found.kind == "none":
        return ()
    return missing(found.kind, namespaces=found.namespaces)


def terms_of(
    settings: Settings,
    workspace: Workspace | None = None,
    grants: Grants | None = None,
    gaps: Sequence[str] = (),
) -> TurnPolicy:
    """Raises ConfigError for prices that are none."""
    return TurnPolicy(
        policy=Policy(
            settings.approve,
            settings.deny,
            allow=settings.allow,
            kinds={"read": settings.approve_read, "edit": settings.approve_edit, "command": settings.approve_command},
            roots=workspace.roots if workspace is not None else (),
            inside=workspace.may_write if workspace is not None else lambda path: False,
            grants=grants,
            servers={name: server.approve for name, server in read_servers(settings.mcp).items()},
            gaps=gaps,
        ),
        limits=Limits.of(settings),
        prices=LIST_PRICES.with_prices(LIST_PRICES.date, settings.prices, "settings"),
    )


def roots_wanted(options: HostOptions, header: SessionHeader | None) -> tuple[Path, ...]:
    """The folders of a session: those named, or those it had before, and those added. Raises UsageError."""
    before = roots_of(header) if not options.roots and header is not None else ()
    for option, given in (("--workspace", options.roots), ("--add-dir", options.added)):
        for root in given:
            if not root.is_dir():
                raise UsageError(f"no such folder: {root}", hint=f"name an existing folder with {option}")
    named = (root.resolve() for root in (*options.roots, *options.added))
    return tuple(dict.fromkeys((*before, *named)))


def _history(
    options: HostOptions, session_id: str, folder: Path, endpoint: Endpoint, roots: tuple[Path, ...], clock: Clock
) -> History:
    if options.resume is not None:
        return History.load(folder / f"{session_id}.jsonl")
    header = SessionHeader(
        id=session_id,
        created=rfc3339(clock.wall_ns()),
        roots=tuple(kept_name(str(root)) for root in roots),
        model=endpoint.model,
        base_url=endpoint.base_url or EMBEDDED_URL,
        provider=endpoint.provider,
    )
    return History.create(folder, header)
