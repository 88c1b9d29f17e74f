"""The embedded Responses service: `loopline serve` as a child process on a loopback port with a random key.

The parent holds the write end of a pipe for as long as it lives, so the service ends by itself if the parent is killed.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import msgspec

from agent_core import launch
from agent_core.clock import Clock
from agent_core.errors import ServiceUnreachable
from agent_core.ready_file import wait_ready

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0


class Embedded(msgspec.Struct, frozen=True):
    """A running embedded service. `base_url` ends in /v1."""

    base_url: str
    api_key: str
    pid: int


class _Ready(msgspec.Struct):
    url: str
    pid: int


@asynccontextmanager
async def embedded_service(
    env: Mapping[str, str], clock: Clock, *, upstream: tuple[str, str, str | None] | None = None
) -> AsyncIterator[Embedded]:
    """Start the service, yield it once it listens, stop it at the end. `upstream`: model, address and key of a provider
    whose model it offers. Raises ServiceUnreachable if it can't start."""
    key = secrets.token_urlsafe(32)
    life_read, life_write = os.pipe()
    with tempfile.TemporaryDirectory(prefix="loopline-") as folder:
        ready_file, log_file = Path(folder) / "ready.json", Path(folder) / "service.log"
        command = launch.own_module("agent_core", "serve", "--port", "0")
        command += ["--ready-file", str(ready_file), "--parent-pipe", str(life_read)]
        kept: tuple[str, ...] = ("LOOPLINE_UPSTREAM_KEY",)
        given = {"LOOPLINE_API_KEY": key}
        if upstream is not None:
            model, url, upstream_key = upstream
            command += ["--engine", f"{model}=upstream:{url}#{model}"]
            kept, given = (), {**given, **({"LOOPLINE_UPSTREAM_KEY": upstream_key} if upstream_key else {})}
        try:
            with log_file.open("wb") as log:
                process = await launch.start(
                    command,
                    environment=launch.own_environment(env, *kept, **given),
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=log,
                    pass_fds=[life_read],
                    new_session=True,
                )
        finally:
            os.close(life_read)
        try:
            ready = await _ready(process, ready_file, log_file)
            yield Embedded(base_url=f"{ready.url}/v1", api_key=key, pid=ready.pid)
        finally:
            try:
                await _stop(process)
            finally:
                os.close(life_write)


class SharedService:
    """The one embedded service of a process, for all its sessions. Owns it; `close` ends it."""

    def __init__(self, env: Mapping[str, str], clock: Clock) -> None:
        self._env, self._clock = env, clock
        self._stack = AsyncExitStack()
        self._starting = asyncio.Lock()
        self._service: Embedded | None = None

    async def __call__(self) -> Embedded:
        """Started when it is first needed, and again if it died. Raises ServiceUnreachable."""
        async with self._starting:
            if self._service is None or not _runs(self._service.pid):
                self._service = await self._stack.enter_async_context(embedded_service(self._env, self._clock))
            return self._service

    async def close(self) -> None:
        await self._stack.aclose()


def _runs(pid: int) -> bool:
    with suppress(OSError):
        os.kill(pid, 0)
        return True
    return False


async def _ready(process: asyncio.subprocess.Process, ready_file: Path, log_file: Path) -> _Ready:
    listening = await wait_ready(process, ready_file, START_TIMEOUT_S)
    if listening is not None:
        return msgspec.json.decode(listening, type=_Ready)
    last = log_file.read_text("utf-8", "replace").strip().splitlines()[-1:] or ["it said nothing"]
    state = "did not listen in time" if process.returncode is None else f"ended with {process.returncode}"
    raise ServiceUnreachable(f"the embedded service {state}: {last[0]}", hint="try `loopline serve` by itself")


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Ask it to end, which lets it settle what is open; a service that does not end is killed."""
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(STOP_TIMEOUT_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
