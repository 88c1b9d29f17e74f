"""`GET /metrics`: what the service counts, for Prometheus. It wants a key, as all that says what goes on here."""

from __future__ import annotations

import time
from collections import Counter

from starlette.requests import Request
from starlette.responses import Response

from agent_core.process_cost import rss_bytes
from agent_core.responses_server.metrics.exposition import Now, exposition
from agent_core.responses_server.service import Service
from agent_core.telemetry.export.prometheus import CONTENT_TYPE


class Metrics:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._started_s = service.clock.wall_ns() / 1e9

    async def show(self, request: Request) -> Response:
        return Response(exposition(self._service.counters, self._now()), media_type=CONTENT_TYPE)

    def _now(self) -> Now:
        service = self._service
        live = Counter({"websocket": 0, "http": 0})
        live.update(connection.transport for connection in service.live)
        return Now(
            connections=live,
            running=len(service.in_flight),
            draining=service.draining,
            ledger_pending=service.pipeline.settlement.ledger.pending,
            limited=service.limits.refused,
            auth_refused=service.guard.refused,
            resident_bytes=_resident_bytes(),
            cpu_s=time.process_time(),
            started_s=self._started_s,
        )


def _resident_bytes() -> int | None:
    """Of this process; None where the system does not tell."""
    try:
        return rss_bytes()
    except (OSError, ValueError, IndexError):
        return None
