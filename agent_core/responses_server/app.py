"""Composition root of the service: settings to parts, parts to an ASGI app, an app to a process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

from agent_core.clock import Clock, SystemClock
from agent_core.errors import AuthError, EngineError, StateError, TransportError
from agent_core.protocol.server_connection import Policy
from agent_core.responses_server.admission.guard import Guard
from agent_core.responses_server.admission.limits import Limits
from agent_core.responses_server.conversation.sealing import Sealer
from agent_core.responses_server.engines.registry import build_registry
from agent_core.responses_server.ledger.factory import make_ledger
from agent_core.responses_server.metrics.counters import Counters
from agent_core.responses_server.pipeline.respond import Pipeline
from agent_core.responses_server.pipeline.settlement import Settlement
from agent_core.responses_server.process.logs import logging_to_stderr
from agent_core.responses_server.process.run import run_process
from agent_core.responses_server.rendering.renderer import Renderer
from agent_core.responses_server.rendering.tokenizer import Tokenizer
from agent_core.responses_server.request.validation import Validator, build_decoders
from agent_core.responses_server.screening.chain import Screens
from agent_core.responses_server.screening.credentials import CredentialScreen
from agent_core.responses_server.screening.injection import InjectionScreen
from agent_core.responses_server.screening.media import MediaScreen
from agent_core.responses_server.service import Service
from agent_core.responses_server.settings import ServeSettings
from agent_core.responses_server.shells.auth import AuthMiddleware
from agent_core.responses_server.shells.http.context import Contexts
from agent_core.responses_server.shells.http.exchange import ResponsesEndpoint
from agent_core.responses_server.shells.http.metrics import Metrics
from agent_core.responses_server.shells.http.probes import Probes
from agent_core.responses_server.shells.http.replies import as_json
from agent_core.responses_server.shells.http.stored import StoredResponses
from agent_core.responses_server.shells.websocket import WebSocketEndpoint
from agent_core.responses_server.state.retention import Bounds, Retention
from agent_core.responses_server.store.factory import make_store
from agent_core.telemetry.emitter import Emitter, NullSink, Sink
from agent_core.telemetry.journal.sink import JournalSink
from agent_core.telemetry.rollup.prices import LIST_PRICES
from agent_core.telemetry.source import new_source

log = logging.getLogger(__name__)

UNSETTLED_NAMED = 50
"""Unsettled responses named in the log; the ledger has all of them."""


def build_service(
    settings: ServeSettings, *, sink: Sink | None = None, source: str | None = None, clock: Clock | None = None
) -> Service:
    """All parts, nothing started. Raises ConfigError for settings that can't be used.

    `sink` None: events go nowhere. `source`: name of this process in its events, None: a fresh one.
    """
    clock = clock or SystemClock()
    tokenizer = Tokenizer()
    store = make_store(settings, clock)
    emitter = Emitter(sink or NullSink(), clock, source or new_source())
    registry = build_registry(settings, clock)
    counters = Counters(lambda: registry.names)
    limits = Limits(settings.limits_of_keys(), lambda: clock.mono_ns() / 1e9)
    pipeline = Pipeline(
        clock=clock,
        store=store,
        validator=Validator(known_tools=settings.has("digest")),
        screens=Screens([MediaScreen(), CredentialScreen(), InjectionScreen()]),
        renderer=Renderer(tokenizer, keep=settings.has("render-cache"), keep_texts=settings.has("item-lru")),
        tokenizer=tokenizer,
        sealer=Sealer(),
        settlement=Settlement(
            store,
            make_ledger(settings, emitter.source, clock),
            emitter,
            clock=clock,
            limits=limits,
            counters=counters,
            prices=LIST_PRICES.with_prices(LIST_PRICES.date, settings.prices, "serve"),
            overlap=settings.has("settle-overlap"),
        ),
        keep_state=settings.has("state"),
        keep_tokens=settings.has("render-cache"),
        keep_screens=settings.has("screen-incremental"),
        overlap_screens=settings.has("screen-overlap"),
        late_render=settings.has("late-render"),
    )
    policy = Policy(life_s=settings.connection_minutes * 60, keepalive_s=settings.keepalive_s)
    return Service(
        settings=settings,
        clock=clock,
        policy=policy,
        registry=registry,
        pipeline=pipeline,
        limits=limits,
        guard=Guard(settings.api_keys, (settings.host, "localhost", *settings.allowed_hosts)),
        counters=counters,
        retention=Retention(_bounds(settings), lambda: clock.mono_ns() / 1e9),
    )


def build_app(
    settings: ServeSettings, *, sink: Sink | None = None, source: str | None = None, clock: Clock | None = None
) -> Starlette:
    """The ASGI app; its Service is in `app.state.service`. Takes what `build_service` takes. Raises ConfigError."""
    service = build_service(settings, sink=sink, source=source, clock=clock)
    probes, stored, contexts = Probes(service), StoredResponses(service), Contexts(service)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            await service.pipeline.store.open()
            service.pipeline.sealer.use(await service.pipeline.store.secret())
            await _open_ledger(service)
        except (StateError, AuthError, TransportError) as error:
            service.start_error = error
        loading = asyncio.create_task(_load(service) if service.start_error is None else asyncio.sleep(0))
        service.registry.start()
        try:
            yield
        finally:
            await loading
            await _close(service)

    app = Starlette(
        routes=[
            WebSocketRoute("/v1/responses", WebSocketEndpoint(service)),
            Route("/v1/responses", ResponsesEndpoint(service)),
            Route("/v1/responses/input_tokens", contexts.input_tokens, methods=["POST"]),
            Route("/v1/responses/compact", contexts.compact, methods=["POST"]),
            Route("/v1/responses/{response_id}", stored.one, methods=["GET", "DELETE"]),
            Route("/v1/responses/{response_id}/input_items", stored.input_items, methods=["GET"]),
            Route("/v1/responses/{response_id}/cancel", stored.cancel, methods=["POST"]),
            Route("/v1/models", probes.models),
            Route("/v1/models/{model:path}", probes.model),
            Route("/healthz", probes.health),
            Route("/readyz", probes.ready),
            Route("/metrics", Metrics(service).show),
        ],
        middleware=[Middleware(AuthMiddleware, guard=service.guard, clock=service.clock)],
        exception_handlers={HTTPException: _not_served},
        lifespan=lifespan,
    )
    app.state.service = service
    return app


def serve(settings: ServeSettings) -> int:
    """Run the service until a signal or until the parent is gone. Returns the exit code of the process."""
    source = new_source()
    journal = JournalSink(settings.state_dir, source) if settings.state_dir is not None else None
    try:
        with logging_to_stderr(settings.log_level, settings.log_format):
            app = build_app(settings, sink=journal, source=source)
            return run_process(settings, app, app.state.service)
    finally:
        if journal is not None:
            journal.close()


async def _not_served(request: Request, error: Exception) -> Response:
    """No such address, or not by this method; a WebSocket there is refused by Starlette itself."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    code = "not_found" if status == 404 else "method_not_allowed"
    message = f"{request.method} {request.url.path[:80]} is not served here."
    body = {"type": "invalid_request_error", "code": code, "message": message, "param": None}
    answer = as_json({"error": body}, status)
    for name, value in (getattr(error, "headers", None) or {}).items():
        answer.headers[name] = value
    return answer


async def _open_ledger(service: Service) -> None:
    """Report and close what a killed process left. Raises StateError."""
    left = await service.pipeline.settlement.ledger.open()
    service.counters.unsettled = len(left)
    if left:
        fields = {
            "count": len(left),
            "responses": [intent.response_id for intent in left[:UNSETTLED_NAMED]],
            "processes": sorted({intent.process for intent in left}),
        }
        log.warning("a killed process left responses; they are closed as unsettled", extra={"fields": fields})


async def _load(service: Service) -> None:
    """What the first call would else pay for, off the event loop."""
    await service.pipeline.renderer.load()
    await asyncio.to_thread(build_decoders)


async def _close(service: Service) -> None:
    """Settle, then close everything; an engine that ends badly is told by the service's exit code."""
    pipeline = service.pipeline
    try:
        await pipeline.settlement.drain()
        await service.registry.close()
    except EngineError as error:
        log.error("an engine ended badly: %s", error.message)
        service.failed = True
    finally:
        try:
            await pipeline.settlement.ledger.close()
        except StateError as error:
            log.error("the ledger could not be settled: %s; the next start will report it", error.code)
            service.failed = True
        await pipeline.store.close()
        pipeline.renderer.close()
        service.retention.close()


def _bounds(settings: ServeSettings) -> Bounds:
    """Of what lanes remember."""
    return Bounds(settings.state_heads, settings.state_mb * 1024 * 1024, settings.state_minutes * 60)
