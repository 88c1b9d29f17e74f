"""The service as a process: its socket, its ready file, signals, and the parent it must not outlive.

A signal drains: nothing new is taken, what runs may finish within the grace, sockets close with 1001. A second
signal, or the end of the parent, ends at once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn
from starlette.types import ASGIApp

from agent_core.errors import ConfigError
from agent_core.ready_file import write_ready_file
from agent_core.responses_server.process.coalescing import CoalescingHttp, CoalescingProtocol
from agent_core.responses_server.service import Service
from agent_core.responses_server.settings import FRAME_CEILING_BYTES, ServeSettings

log = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)
RELOAD = getattr(signal, "SIGHUP", None)
"""Reads the engines of the configuration anew, where there is such a signal."""
ORPHAN_LIMIT_S = 1.5
"""After this a service without a parent ends, whatever it is still busy with."""
CLOSING_S = 1
"""What uvicorn may take to close what is left once the service has drained."""
IDLE_HTTP_S = 75
MOST_FILES = 65_536
TICK_S, TICKS_A_DAY = 0.1, 864_000
"""uvicorn's own beat; by it the Date header is kept."""


def run_process(settings: ServeSettings, app: ASGIApp, service: Service) -> int:
    """Serve until told to end. Returns the exit code.

    Raises ConfigError if the address or the ready file can't be used, StateError if the store can't.
    """
    if settings.ready_file is not None and not settings.ready_file.parent.is_dir():
        raise ConfigError("serve", "ready-file", "a file in a folder that exists", got=str(settings.ready_file))
    sock = bind(settings.host, settings.port)
    _allow_many_files()
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    if settings.ready_file is not None:
        settings.ready_file.unlink(missing_ok=True)
    server = _Server(uvicorn_config(app), settings, service, sock)
    server.run(sockets=[sock])
    if service.start_error is not None:
        raise service.start_error
    return 1 if service.failed or not server.started else 0


def uvicorn_config(app: ASGIApp) -> uvicorn.Config:
    """uvicorn's own settings, the same for every way to run the service."""
    return uvicorn.Config(
        app,
        http=CoalescingHttp,
        ws=CoalescingProtocol,
        ws_max_size=FRAME_CEILING_BYTES,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE_HTTP_S,
        timeout_graceful_shutdown=CLOSING_S,
    )


class PromptServer(uvicorn.Server):
    """uvicorn that ends when it is told to, and not at its next tick."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._leaving = asyncio.Event()

    def leave(self) -> None:
        """Begin to shut down. On the event loop only."""
        self.should_exit = True
        self._leaving.set()

    async def main_loop(self) -> None:
        counter = 0
        while not await self.on_tick(counter):
            counter = (counter + 1) % TICKS_A_DAY
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self._leaving.wait()


class _Server(PromptServer):
    """With our signals, our ready file and our way to end."""

    def __init__(self, config: uvicorn.Config, settings: ServeSettings, service: Service, sock: socket.socket) -> None:
        super().__init__(config)
        self._settings, self._service, self._sock = settings, service, sock
        self._ending: asyncio.Task[None] | None = None
        self._reloading: asyncio.Future[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.started or self._service.start_error is not None:
            self.should_exit = True
            return
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            with suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self.end, self._settings.shutdown_grace_s)
        if self._settings.reread is not None and RELOAD is not None:
            with suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(RELOAD, self._reload)
        if self._settings.parent_pipe_fd is not None:
            loop.add_reader(self._settings.parent_pipe_fd, self._parent_pipe, self._settings.parent_pipe_fd)
        if self._settings.ready_file is not None:
            write_ready_file(self._settings.ready_file, {"url": service_url(self._sock), "pid": os.getpid()})

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are ours: uvicorn would raise them again after a clean end, and spoil the exit code."""
        yield

    def _reload(self) -> None:
        """One reload after the other."""
        self._reloading = asyncio.ensure_future(self._reload_behind(self._reloading))

    async def _reload_behind(self, earlier: asyncio.Future[None] | None) -> None:
        if earlier is not None:
            await asyncio.wait([earlier])
        await self._service.reload()

    def end(self, grace_s: float) -> None:
        """Begin to end; asked a second time, end now."""
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end(grace_s))
        else:
            self._ending.cancel()
            self.force_exit = True
            self.leave()

    async def _end(self, grace_s: float) -> None:
        try:
            async with asyncio.timeout(grace_s):
                await self._service.drain()
                await self._service.idle()
        except TimeoutError:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSING_S):
                    await self._service.cut()
        self.leave()

    def _parent_pipe(self, fd: int) -> None:
        """The pipe can be read: at its end of file the parent is gone."""
        if os.read(fd, 4096):
            return
        asyncio.get_running_loop().remove_reader(fd)
        timer = threading.Timer(ORPHAN_LIMIT_S, os._exit, (1,))
        timer.daemon = True
        timer.start()
        self.end(0.2)


def _allow_many_files() -> None:
    """As many open files as the system lets us have: each connection is one, and the usual limit is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def bind(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes a free one. Raises ConfigError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's algorithm off only for sockets that name TCP; with it a small write can wait 40 ms.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.set_inheritable(False)
    except OSError as error:
        sock.close()
        raise ConfigError(
            "serve", "host", f"an address to listen on ({error.strerror})", got=f"{host}:{port}"
        ) from error
    return sock


def service_url(sock: socket.socket) -> str:
    """The base address without /v1."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
