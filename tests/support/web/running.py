"""A running web dashboard: in this process for most tests, in one of its own where signals and browsers come in."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import msgspec

from agent_core.clock import Clock, SystemClock
from agent_core.ready_file import wait_ready
from dashboard.hub.people.auth import add_token
from dashboard.web.launch import Running, WebOptions, running_web

START_S = 20.0


class Site:
    """A running dashboard and clients to it."""

    def __init__(self, running: Running, clock: Clock) -> None:
        self.running, self.clock = running, clock
        self.url = running.url
        self.parts = running.parts
        self.hub = running.parts.hub
        self.secret = running.launch.secret
        self.ingest_token = running.launch.ingest_token

    def token(self, name: str, role: str, team: str) -> str:
        return add_token(self.parts.people, self.clock, name, role, team)

    def client(self, token: str | None = None, **headers: str) -> httpx.AsyncClient:
        """With a bearer token, or with none."""
        bearer = {"authorization": f"Bearer {token}"} if token is not None else {}
        return httpx.AsyncClient(base_url=self.url, headers={**bearer, **headers}, timeout=20.0, trust_env=False)

    async def signed_in(self, credential: str | None = None) -> tuple[dict[str, str], str]:
        """What a browser sends after signing in: the cookie header, and the proof its pages carry."""
        async with self.client() as client:
            answer = await client.post(
                "/login", data={"token": credential or self.secret}, headers={"origin": self.url}
            )
        assert answer.status_code == 303, answer.text
        cookie = answer.cookies[self.parts.site.cookie]
        return {"cookie": f"{self.parts.site.cookie}={cookie}"}, self.parts.auth.csrf(cookie)


@contextlib.asynccontextmanager
async def running_site(folder: Path, **options: Any) -> AsyncIterator[Site]:
    """In this process, on a free loopback port unless `options` say else."""
    clock = options.pop("clock", None) or SystemClock()
    told = {
        "host": "127.0.0.1",
        "port": 0,
        "public_url": None,
        "store": str(folder / "hub"),
        "state_dir": folder / "state",
    }
    async with running_web(WebOptions(**{**told, **options}, clock=clock)) as running:
        yield Site(running, clock)


class ServerEvent(msgspec.Struct, frozen=True):
    """One server-sent event."""

    kind: str
    data: Any
    id: str


async def told(answer: httpx.Response) -> AsyncIterator[ServerEvent]:
    """The events of an open stream."""
    kind, data, cursor = "", "", ""
    async for line in answer.aiter_lines():
        if not line and data:
            yield ServerEvent(kind, json.loads(data), cursor)
            kind, data, cursor = "", "", ""
        elif line.startswith("event:"):
            kind = line.removeprefix("event:").strip()
        elif line.startswith("data:"):
            data = line.removeprefix("data:").strip()
        elif line.startswith("id:"):
            cursor = line.removeprefix("id:").strip()


async def seen_until(
    events: AsyncIterator[ServerEvent], wanted: Callable[[ServerEvent], bool], timeout_s: float = 15.0
) -> list[ServerEvent]:
    """Events up to and with the first that is wanted."""
    found = []
    async with asyncio.timeout(timeout_s):
        async for event in events:
            found.append(event)
            if wanted(event):
                return found
    raise AssertionError(f"the stream ended after {found}")


class WebProcess:
    """`loopline web` as a process of its own, with a state directory of its own."""

    def __init__(self, process: asyncio.subprocess.Process, ready: dict[str, Any]) -> None:
        self.process, self.ready = process, ready
        self.url: str = ready["url"]

    async def stop(self) -> int:
        if self.process.returncode is None:
            self.process.terminate()
        async with asyncio.timeout(START_S):
            return await self.process.wait()


@contextlib.asynccontextmanager
async def web_process(
    state_home: Path, *, port: int = 0, host: str = "127.0.0.1", inside: Sequence[str] = ()
) -> AsyncIterator[WebProcess]:
    """`state_home` is XDG_STATE_HOME; journals lie under `loopline/telemetry` there. `inside` is a command that runs
    the one it is given."""
    ready_file = state_home / "web.ready"
    ready_file.unlink(missing_ok=True)
    env = {**os.environ, "XDG_STATE_HOME": str(state_home), "PYTHONDONTWRITEBYTECODE": "1"}
    process = await asyncio.create_subprocess_exec(
        *inside, sys.executable, "-m", "agent_core", "web",
        "--host", host, "--port", str(port), "--ready-file", str(ready_file),
        env=env, stderr=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    try:
        facts = await wait_ready(process, ready_file, START_S)
        if facts is None:
            if process.returncode is None:
                process.kill()
            assert process.stderr is not None
            raise AssertionError((await process.stderr.read()).decode())
        yield WebProcess(process, json.loads(facts))
    finally:
        if process.returncode is None:
            process.terminate()
        async with asyncio.timeout(START_S):
            await process.communicate()
