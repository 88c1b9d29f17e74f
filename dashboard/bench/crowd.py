"""A load of simulated agents and browsers against a running hub, with what came of it."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from agent_core.bench.figures import rank
from agent_core.clock import rfc3339
from agent_core.process_cost import cpu_s, rss_bytes
from agent_core.telemetry import events as ev
from agent_core.telemetry.codec import encode_event

BATCH = 8
"""Events that an agent pushes at once."""
CONNECTIONS = 40
"""Sockets that the agents' pushes go over; hundreds of idle ones would measure the client."""


class Result(msgspec.Struct, kw_only=True):
    """What a run of the crowd came to. Percentiles are over the pushes, and over the turns that a stream showed."""

    agents: int
    streams: int
    seconds: float
    events: int
    calls: int
    turns: int
    pushes: int
    refused: int
    """Answers other than 200; the push was made again."""
    ingest_p50_ms: float
    ingest_p99_ms: float
    lag_p50_ms: float
    lag_p99_ms: float
    """From the push that begins a turn to its row in a browser."""
    lags: int
    stream_bytes: int
    rss_mb: float
    cpu_s: float
    """Of the hub's process."""
    acked: dict[str, int]

    @property
    def line(self) -> str:
        return (
            f"hub load: {self.agents} agents, {self.streams} streams, {self.seconds:.0f} s: {self.events} events in "
            f"{self.pushes} pushes ({self.events / self.seconds:.0f}/s), {self.refused} refused; ingest p50 "
            f"{self.ingest_p50_ms:.0f} ms, p99 {self.ingest_p99_ms:.0f} ms; stream lag p50 {self.lag_p50_ms:.0f} ms, "
            f"p99 {self.lag_p99_ms:.0f} ms over {self.lags} rows; {self.stream_bytes / 1e6:.1f} MB to browsers; hub "
            f"{self.rss_mb:.0f} MB, {self.cpu_s / self.seconds:.0%} of a core"
        )


class Agent:
    """One source: sessions of turns with calls and tools, told at a steady pace on one made-up monotonic clock."""

    def __init__(self, number: int) -> None:
        self.source = f"h{number:06x}-{number + 1}-{number:06x}"
        self.number, self.seq, self.turns, self.calls = number, 0, 0, 0
        self.began: dict[int, str] = {}
        """Turns by the sequence of their start."""
        self._events = self._work()
        self._mono_ns = 10**12

    def batch(self, count: int, wall_ns: int) -> list[ev.Event]:
        """The next events, half a second apart, the last of them now."""
        found = []
        for index in range(count):
            event = next(self._events)
            self.seq += 1
            self._mono_ns += 500_000_000
            stamp = rfc3339(wall_ns - (count - 1 - index) * 500_000_000)
            found.append(
                msgspec.structs.replace(event, v=1, source=self.source, seq=self.seq, time=stamp, mono_ns=self._mono_ns)
            )
        return found

    def _work(self) -> Iterator[ev.Event]:
        session, connection = f"s{self.number}", f"c{self.number}"
        yield ev.SessionStarted(client="cli", roots=1, project=f"project-{self.number % 20}", session=session)
        yield ev.ConnectionOpened(session=session, connection=connection, handshake_ms=3.0)
        while True:
            turn = f"{session}_t{self.turns}"
            self.began[self.seq + 1] = turn
            yield ev.TurnStarted(session=session, turn=turn)
            for index in range(3):
                ids: dict[str, Any] = {
                    "session": session,
                    "turn": turn,
                    "call": f"{turn}_c{index}",
                    "connection": connection,
                }
                yield ev.CallSent(
                    **ids, model=f"model-{self.number % 8}", transport="websocket", attempt=1, input_items=1,
                    reuse="first" if self.calls == 0 else "reused", bytes_up=900, bytes_full=9_000,
                )  # fmt: skip
                yield ev.CallFirstDelta(**ids, latency_ms=20, channel="text", ttft_ms=20 + self.number % 50)
                yield ev.CallProgress(**ids, output_tokens_est=200, rate_est=400.0)
                yield ev.CallCompleted(
                    **ids, status="completed", response_id=f"r_{turn}_{index}", duration_ms=1500.0, ttft_ms=20.0,
                    inference_ms=1400.0, input_tokens=3000, cached_tokens=2500, output_tokens=400, deltas=40,
                )  # fmt: skip
                self.calls += 1
            yield ev.TurnFinished(
                session=session, turn=turn, status="completed", duration_ms=6500.0, calls=3, tools=0,
                stages_ms={"inference": 4200.0, "api_overhead": 300.0, "client_other": 2000.0},
            )  # fmt: skip
            self.turns += 1


class _Load:
    def __init__(self, port: int, ingest_token: str, secret: str) -> None:
        self._port, self._token, self._secret = port, ingest_token, secret
        self.ingest_ms: list[float] = []
        self.lag_ms: list[float] = []
        self.began: dict[str, float] = {}
        self.refused = self.bytes = 0
        self.acked: dict[str, int] = {}

    async def push(
        self, sockets: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]], agent: Agent
    ) -> None:
        events = agent.batch(BATCH, time.time_ns())
        body = gzip.compress(b"".join(encode_event(event) + b"\n" for event in events), 1)
        head = (
            f"POST /api/ingest HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        began = [agent.began.pop(event.seq) for event in events if event.seq in agent.began]
        while True:
            reader, writer = await sockets.get()
            sent = time.perf_counter()
            for turn in began:
                self.began.setdefault(turn, sent)
            writer.write(head.encode() + body)
            await writer.drain()
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            said = await reader.readexactly(length)
            sockets.put_nowait((reader, writer))
            self.ingest_ms.append((time.perf_counter() - sent) * 1000)
            if b" 200 " in answer[:20]:
                self.acked[agent.source] = msgspec.json.decode(said)["acked"]
                return
            self.refused += 1
            await asyncio.sleep(1.0)

    async def stream(self, number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=4 << 20)
        request = (
            f"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nAuthorization: Bearer {self._secret}\r\n\r\n"
        )
        writer.write(request.encode())
        seen: set[str] = set()
        assert b" 200 " in await reader.readline(), "a stream was refused"
        try:
            while line := await reader.readline():
                self.bytes += len(line)
                if number >= 3 or not line.startswith(b'data: {"rows"'):
                    continue  # a few browsers read closely; all of them read
                at = time.perf_counter()
                for turn in msgspec.json.decode(line[6:])["shown"]:
                    if turn not in seen and turn in self.began:
                        self.lag_ms.append((at - self.began[turn]) * 1000)
                    seen.add(turn)
        finally:
            writer.close()


async def run_load(
    url: str, ingest_token: str, secret: str, pid: int, *, agents: int, streams: int, seconds: float
) -> Result:
    """Push for `seconds`, each agent two events a second, while `streams` browsers look."""
    port = int(url.rpartition(":")[2])
    load = _Load(port, ingest_token, secret)
    watching = [asyncio.create_task(load.stream(number)) for number in range(streams)]
    crowd = [Agent(number) for number in range(agents)]
    sockets: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        sockets.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    began, cpu_before_s = time.perf_counter(), cpu_s(pid)
    every = BATCH / 2.0

    async def live(agent: Agent) -> None:
        due = began + every * agent.number / agents
        while due < began + seconds:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            await load.push(sockets, agent)
            due += every

    await asyncio.gather(*(live(agent) for agent in crowd))
    took = time.perf_counter() - began
    await asyncio.sleep(1.0)
    assert [task for task in watching if task.done()] == [], "a stream ended"
    for task in watching:
        task.cancel()
    await asyncio.gather(*watching, return_exceptions=True)
    while not sockets.empty():
        sockets.get_nowait()[1].close()
    return Result(
        agents=agents,
        streams=streams,
        seconds=took,
        events=sum(agent.seq for agent in crowd),
        calls=sum(agent.calls for agent in crowd),
        turns=sum(agent.turns for agent in crowd),
        pushes=len(load.ingest_ms),
        refused=load.refused,
        ingest_p50_ms=rank(load.ingest_ms, 0.5),
        ingest_p99_ms=rank(load.ingest_ms, 0.99),
        lag_p50_ms=rank(load.lag_ms, 0.5),
        lag_p99_ms=rank(load.lag_ms, 0.99),
        lags=len(load.lag_ms),
        stream_bytes=load.bytes,
        rss_mb=rss_bytes(pid) / 2**20,
        cpu_s=cpu_s(pid) - cpu_before_s,
        acked=load.acked,
    )
