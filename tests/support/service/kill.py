"""One kill -9 of the service at a random point under load, and what is there after it starts again.

Clients note what they were told: ids of responses that were created, ids of those that ended. The ledger has to know
every one of them.
"""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from websockets.exceptions import WebSocketException

from tests.support.service.running import TIMEOUT_S, Child, Socket, child_service, connected, http_client

SOCKETS, LANES, STREAMS, POSTS = 3, 2, 2, 1
STEPS = 3
LATEST_KILL_S = 0.5
CLIENTS_END_S = 10.0
"""What clients may take to notice that the service is gone; it takes them milliseconds."""

ROLLOUT = {
    "tokens_per_s": 3_000,
    "steps": [{"output": [{"text": "a few words that take their time " * (4 * step + 1)}]} for step in range(STEPS)],
}


@dataclass
class Told:
    """What the clients were told of."""

    created: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """The first of them was created."""

    def hear(self, event: Any) -> None:
        if event["type"] == "response.created":
            self.created.add(event["response"]["id"])
            self.begun.set()
        elif event["type"] == "response.completed":
            self.ended.add(event["response"]["id"])


@dataclass(frozen=True)
class KillVerdict:
    """Of one kill. `lost`: responses that clients know and the ledger does not; `waited_s`: of the slowest client."""

    seed: int
    delay_ms: int
    created: int
    ended: int
    settled: int
    unsettled: int
    lost: int
    waited_s: float
    killed_again: bool
    faults: tuple[str, ...]

    def line(self) -> str:
        again = " and while it started" if self.killed_again else ""
        state = "ok" if not self.faults else "; ".join(self.faults)
        return (
            f"kill {self.seed:4} after {self.delay_ms:4} ms{again}: {self.created} created, {self.ended} ended, "
            f"{self.settled} settled, {self.unsettled} unsettled, {self.lost} lost, clients ended in "
            f"{self.waited_s:.2f} s: {state}"
        )


async def kill_once(folder: Path, seed: int) -> KillVerdict:
    """Load, kill, start again, compare."""
    die = random.Random(seed)
    state, told = folder / "state", Told()
    delay_s = die.uniform(0, LATEST_KILL_S)
    rollout = folder / "rollout.json"
    rollout.write_text(json.dumps(ROLLOUT))
    async with child_service(folder, state_dir=state, rollout_file=rollout) as child, loaded(child, told) as clients:
        async with asyncio.timeout(TIMEOUT_S):
            await told.begun.wait()
        await asyncio.sleep(delay_s)
        child.process.kill()
        await child.process.wait()
        killed_s = time.monotonic()
        done, waiting = await asyncio.wait(clients, timeout=CLIENTS_END_S)
        waited_s = time.monotonic() - killed_s
    faults = [f"{len(waiting)} clients wait for ever"] if waiting else []
    faults += [f"a client broke: {error!r}" for task in done if (error := task.exception()) is not None]
    (folder / "ready.json").unlink(missing_ok=True)
    killed_again = die.random() < 0.25
    if killed_again:
        await start_and_kill(folder, state, die.uniform(0.2, 1.2))
    async with child_service(folder, state_dir=state) as again:
        if again.process.returncode is not None:
            faults.append("it does not start again")
        again.process.terminate()
        await again.ended()
    return compare_told(state, told, seed, delay_s, waited_s, killed_again, faults)


async def start_and_kill(folder: Path, state: Path, after_s: float) -> None:
    """Kill it while it starts, or soon after."""
    starting = asyncio.create_task(_serve_until_cancelled(folder, state))
    await asyncio.sleep(after_s)
    starting.cancel()
    with suppress(asyncio.CancelledError):
        await starting
    (folder / "ready.json").unlink(missing_ok=True)


async def _serve_until_cancelled(folder: Path, state: Path) -> None:
    """`child_service` kills its process when it is left while that still runs, also while it waits for the start."""
    async with child_service(folder, state_dir=state) as child:
        await child.process.wait()


@asynccontextmanager
async def loaded(child: Child, told: Told) -> AsyncIterator[set[asyncio.Task[None]]]:
    """Clients that ask without end; each ends by itself when the service is gone."""
    tasks = {asyncio.create_task(converse(child, told, number)) for number in range(SOCKETS)}
    tasks |= {asyncio.create_task(stream(child, told)) for _ in range(STREAMS)}
    tasks |= {asyncio.create_task(post(child, told)) for _ in range(POSTS)}
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def converse(child: Child, told: Told, number: int) -> None:
    """Conversations on several lanes of one socket."""
    with suppress(OSError, WebSocketException):
        async with connected(child.running) as socket:
            lanes: dict[str | None, int] = {None: 0, **{f"lane{lane}": 0 for lane in range(1, LANES)}}
            for lane in lanes:
                await ask(socket, lane, number, {})
            while True:
                event = json.loads(await socket.connection.recv())
                told.hear(event)
                if event["type"] == "response.completed":
                    lane = event.get("stream_id")
                    lanes[lane] = (lanes[lane] + 1) % STEPS
                    previous = {"previous_response_id": event["response"]["id"]} if lanes[lane] else {}
                    await ask(socket, lane, number, previous)


async def ask(socket: Socket, lane: str | None, number: int, previous: dict[str, str]) -> None:
    named = {"stream_id": lane} if lane is not None else {}
    await socket.create(input="go on", store=number % 2 == 0, **named, **previous)


async def stream(child: Child, told: Told) -> None:
    """One streamed response after the other, over a kept-alive connection."""
    with suppress(OSError, httpx.HTTPError):
        async with http_client(child.running) as client:
            while True:
                body = {"model": "scripted", "input": "go", "stream": True}
                async with client.stream("POST", "/responses", json=body) as answer:
                    async for line in answer.aiter_lines():
                        if line.startswith("data: {"):
                            told.hear(json.loads(line[6:]))


async def post(child: Child, told: Told) -> None:
    """One JSON response after the other."""
    with suppress(OSError, httpx.HTTPError):
        async with http_client(child.running) as client:
            while True:
                answer = await client.post("/responses", json={"model": "scripted", "input": "go"})
                told.created.add(answer.json()["id"])
                told.ended.add(answer.json()["id"])


def compare_told(
    state: Path, told: Told, seed: int, delay_s: float, waited_s: float, killed_again: bool, faults: list[str]
) -> KillVerdict:
    """What the files hold against what the clients were told."""
    states: dict[str, tuple[str, str | None]] = {}
    for name in ("ledger.db", "responses.db"):
        with closing(sqlite3.connect(state / name)) as database:
            (sound,) = database.execute("PRAGMA integrity_check").fetchone()
            if sound != "ok":
                faults.append(f"{name} is damaged")
            if name == "ledger.db":
                rows = database.execute("SELECT response_id, state, status FROM ledger")
                states = {response_id: (kind, status) for response_id, kind, status in rows}
    lost = told.created - set(states)
    if lost:
        faults.append(f"lost: {sorted(lost)[:3]}")
    if wrong := [each for each in told.ended if states.get(each, ("", ""))[0] == "settled"
                 and states[each][1] != "completed"]:  # fmt: skip
        faults.append(f"{len(wrong)} ended otherwise than their clients were told")
    if left := [path.name for path in state.rglob("*.intents") if path.is_file()]:
        faults.append(f"intents are left: {left}")
    kinds = [kind for kind, _ in states.values()]
    return KillVerdict(
        seed=seed,
        delay_ms=round(delay_s * 1000),
        created=len(told.created),
        ended=len(told.ended),
        settled=kinds.count("settled"),
        unsettled=kinds.count("unsettled"),
        lost=len(lost),
        waited_s=waited_s,
        killed_again=killed_again,
        faults=tuple(faults),
    )
