"""`loopline lsp --stdio` with a watch on its event loop. `python -m lsp_server.bench.server REPORT`.

SIGUSR1 makes it append what was seen since the last time to the file REPORT, as one JSON line. The watch begins with
SIGUSR2: it costs some CPU time itself, which a server at rest does not.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from pathlib import Path

import msgspec

from agent_core.clock import SystemClock
from agent_core.collector import calm_collector
from agent_core.process_cost import rss_bytes
from agent_core.variables import variables
from lsp_server.process import Process
from lsp_server.transport.stdio import serve_stdio

STEP_S = 0.002


class Seen(msgspec.Struct, kw_only=True):
    """`wall_ms`: the longest time that a waiting task was kept waiting; `own_ms`: the most CPU time that the loop's
    thread spent meanwhile, without what other processes took. `cpu_s`: CPU time of the process so far."""

    wall_ms: float = 0.0
    own_ms: float = 0.0
    cpu_s: float = 0.0
    rss_mb: float = 0.0


class Watch:
    def __init__(self, report: Path) -> None:
        self._report, self._seen = report, Seen()
        self._running: asyncio.Task[None] | None = None

    def begin(self) -> None:
        if self._running is None:
            self._running = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            wall_s, own_s = time.monotonic(), time.thread_time()
            await asyncio.sleep(STEP_S)
            self._seen.wall_ms = max(self._seen.wall_ms, (time.monotonic() - wall_s - STEP_S) * 1000)
            self._seen.own_ms = max(self._seen.own_ms, (time.thread_time() - own_s) * 1000)

    def tell(self) -> None:
        self._seen.cpu_s, self._seen.rss_mb = time.process_time(), rss_bytes("self") / 1e6
        with self._report.open("ab") as file:
            file.write(msgspec.json.encode(self._seen) + b"\n")
        self._seen = Seen()


async def serve(report: Path) -> None:
    """Until the client exits."""
    calm_collector()
    process, watch = Process(variables(), SystemClock()), Watch(report)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, watch.tell)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, watch.begin)
    await serve_stdio(process)
    await process.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
