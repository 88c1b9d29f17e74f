"""One run of the web dashboard: store, hub, app and server put together, and taken apart in order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.clock import Clock, SystemClock
from agent_core.errors import ConfigError
from agent_core.ready_file import write_ready_file
from dashboard.hub.core import Hub
from dashboard.hub.frames import Frames
from dashboard.hub.people.auth import Auth, Launch, new_launch, services_of
from dashboard.hub.reporting import Reporting
from dashboard.hub.settings import read_settings
from dashboard.hub.sharing import Sharing
from dashboard.hub.store.opening import open_people, open_store
from dashboard.hub.store.port import Shared
from dashboard.hub.tasks import owned
from dashboard.web.app import build_app
from dashboard.web.assets import Assets
from dashboard.web.follow import follow_journals, follow_settings
from dashboard.web.origin import is_loopback, site_of
from dashboard.web.pages.common import environment
from dashboard.web.parts import Parts
from dashboard.web.server import Server, listen


@dataclass(frozen=True)
class WebOptions:
    """`host` and `port` to listen on (0: any free port); `store` as in `--store`; `state_dir` whose journals are
    followed on a loopback address; `ready_file` None: none is written."""

    host: str
    port: int
    public_url: str | None
    store: str | None
    state_dir: Path
    ready_file: Path | None = None
    version: str = ""
    clock: Clock = field(default_factory=SystemClock)


@dataclass(frozen=True)
class Running:
    """What is reachable where. `link` signs a browser in once."""

    url: str
    link: str
    launch: Launch
    parts: Parts


@contextlib.asynccontextmanager
async def running_web(options: WebOptions) -> AsyncIterator[Running]:
    """Serves within. Raises ConfigError for options that can't be, StateError or StoreError for a store that can't."""
    local = is_loopback(options.host)
    people = open_people(options.store, options.state_dir)
    try:
        if not local and not any(token.revoked_us is None for token in people.tokens()):
            raise ConfigError(
                "--host", "", "a loopback address, as long as there is no token", got=options.host,
                hint="loopline web token add NAME --role admin --team TEAM",
            )  # fmt: skip
        async with contextlib.AsyncExitStack() as stack:
            listener = listen(options.host, options.port)
            stack.callback(listener.close)
            site = site_of(options.host, listener.getsockname()[1], options.public_url)
            store = open_store(options.store, options.state_dir)
            stack.callback(store.close)
            hub = Hub(store, options.clock, read_settings(people.value("settings")), lambda: services_of(people))
            launch, assets = new_launch(), Assets()
            parts = Parts(
                hub=hub, people=people, auth=Auth(people, options.clock, launch), frames=Frames(hub), site=site,
                assets=assets, pages=environment(assets), reporting=Reporting(hub), local=local,
                version=options.version,
            )  # fmt: skip
            server = Server(build_app(parts), listener)
            parts.abort = server.abort
            await hub.start()
            stack.push_async_callback(hub.stop)
            if isinstance(store, Shared):
                sharing = Sharing(hub, store)
                await sharing.start()
                stack.push_async_callback(sharing.stop)
                settings = owned(follow_settings(hub, people), "follow-settings")
                stack.push_async_callback(_cancelled, settings)
            if local:
                following = owned(follow_journals(hub, people, options.state_dir), "follow")
                stack.push_async_callback(_cancelled, following)
            await stack.enter_async_context(server.running())
            stack.callback(parts.stopping.set)
            running = Running(site.url, f"{site.url}/login?code={launch.code}", launch, parts)
            if options.ready_file is not None:
                _say_ready(options.ready_file, running)
            yield running
    finally:
        people.close()


async def serve_until_signal(options: WebOptions, announce: Callable[[Running], None]) -> None:
    """Serve until SIGTERM or SIGINT; `announce` is called once it can be reached."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    try:
        async with running_web(options) as running:
            announce(running)
            await ended.wait()
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _say_ready(path: Path, running: Running) -> None:
    """For scripts of the same user: where it is, and the secrets of this launch. Owner-only, and whole or not there."""
    ready = {
        "url": running.url,
        "pid": os.getpid(),
        "link": running.link,
        "secret": running.launch.secret,
        "ingest_token": running.launch.ingest_token,
    }
    try:
        write_ready_file(path, ready)
    except OSError as error:
        raise ConfigError("--ready-file", "", "a file that can be written", got=error.strerror or str(path)) from None


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
