"""Stores, hubs and realistic events for tests of the hub."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from agent_core.clock import Clock, SystemClock
from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.events import Event
from dashboard.hub.core import Hub
from dashboard.hub.ingest.ndjson import Batch, read_batch
from dashboard.hub.settings import HubSettings
from dashboard.hub.store.sqlite_store import SqliteStore
from tests.support.telemetry.scene import Scene


def source_name(number: int) -> str:
    return f"h{number:06x}-{100 + number}-{number:06x}"


def agent_scene(number: int = 1, *, project: str | None = "shop") -> Scene:
    """A source with a session and an open connection."""
    scene = Scene(source=source_name(number), session=f"sess_{number}")
    scene.start_session(project)
    scene.open_connection(f"conn_{number}")
    return scene


def work(scene: Scene, *, calls: int = 3, status: str = "completed", model: str = "gpt-5") -> str:
    """One whole turn: calls with a tool between each two; gives its id."""
    turn = scene.start_turn()
    scene.wait(5)
    for number in range(calls):
        sent = {
            "model": model,
            "reuse": "first" if number == 0 else "reused",
            "bytes_up": 9_000 if number == 0 else 900,
            "bytes_full": 9_000 + 900 * number,
        }
        scene.call(ttft_ms=20 + number, decode_ms=30, sent=sent, input_tokens=2_000 + 300 * number, cached_tokens=1_500)
        if number + 1 < calls:
            scene.tool(12, "read")
    scene.wait(3)
    scene.finish_turn(status)  # type: ignore[arg-type]
    scene.wait(50)
    return turn


def ndjson(events: Iterable[Event]) -> bytes:
    return b"".join(encode_event(event) + b"\n" for event in events)


def packed(events: Iterable[Event]) -> bytes:
    return gzip.compress(ndjson(events), 1)


def batch_of(events: Iterable[Event]) -> Batch:
    return read_batch(ndjson(events), "")


@contextlib.asynccontextmanager
async def running_hub(folder: Path, clock: Clock | None = None) -> AsyncIterator[Hub]:
    """A hub on a real store in `folder`."""
    store = SqliteStore(folder)
    hub = Hub(store, clock or SystemClock(), HubSettings())
    try:
        await hub.start()
        yield hub
    finally:
        await hub.stop()
        store.close()
