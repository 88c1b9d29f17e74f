"""Exports telemetry as OpenTelemetry traces and metrics over OTLP/HTTP; needs the extra `otel`.

A sink like any other: it takes events at once and does its work in its own thread, with the figures of the same
roll-up that every other reader uses. One trace per turn: `invoke_agent` with its calls and tools as children.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

import msgspec

from agent_core.errors import ConfigError
from agent_core.telemetry import events as ev
from agent_core.telemetry.export import otel_names as names
from agent_core.telemetry.rollup.figures import OTHER
from agent_core.telemetry.rollup.prices import LIST_PRICES, PriceTable
from agent_core.telemetry.rollup.rollup import Rollup
from agent_core.telemetry.rollup.rows import CallRow, TurnRow
from agent_core.telemetry.rollup.sketch import GAP_ERROR, Sketch
from agent_core.telemetry.rollup.stages import ms_to_ns

log = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""Events that wait for the thread; the oldest are dropped beyond it."""
MAX_ERRORS = 64
UNKNOWN_ERROR = "_OTHER"


class OtelOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`endpoint` is the collector's base URL; None: what the standard variables say (`OTEL_EXPORTER_OTLP_ENDPOINT`,
    else http://localhost:4318). `provider` is `gen_ai.provider.name`, `server` (host, port) of the service.
    `models` are label values beside those with a list price; any other model is `other` in metrics. `interval_s`:
    pause between metric exports. `timeout_s`: how long one export may take, repetitions included. `environment` has
    the standard variables for headers, which hold keys and are therefore not in this process's own.
    """

    endpoint: str | None = None
    agent_name: str = "loopline"
    provider: str = "openai"
    server: tuple[str, int] | None = None
    models: frozenset[str] = frozenset()
    interval_s: float = 15.0
    timeout_s: float = 10.0
    version: str = ""
    environment: Mapping[str, str] = msgspec.field(default_factory=dict)


class OtelSink:
    """Implements `emitter.Sink`. Make it with `open_otel`; `close` it after the last event."""

    def __init__(self, tracer_provider: Any, meter_provider: Any, options: OtelOptions, prices: PriceTable) -> None:
        self._providers = (tracer_provider, meter_provider)
        self._exporter = _Exporter(tracer_provider, meter_provider, options, prices)
        self._events: deque[ev.Event] = deque()
        self._lock, self._wake = threading.Lock(), threading.Event()
        self._closing = False
        self.dropped = 0
        """Events that found no room, and those that the exporter failed on."""
        self._thread = threading.Thread(target=self._run, name="loopline-otel", daemon=True)
        self._thread.start()

    def emit(self, event: ev.Event) -> None:
        with self._lock:
            self._events.append(event)
            if len(self._events) > MAX_WAITING:
                self._events.popleft()
                self.dropped += 1
        self._wake.set()

    def close(self, timeout_s: float = 5.0) -> None:
        """Export what waits and shut down, within about `timeout_s` seconds."""
        self._closing = True
        self._wake.set()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            closing = self._closing
            with self._lock:
                batch = list(self._events)
                self._events.clear()
            for event in batch:
                self._take(event)
            if closing:
                for provider in self._providers:
                    provider.shutdown()
                return

    def _take(self, event: ev.Event) -> None:
        try:
            self._exporter.take(event)
        except Exception:  # a fault of the exporter or of the SDK must not end the thread
            if not self.dropped:
                log.warning(
                    "an event could not be exported to OpenTelemetry; further ones are only counted", exc_info=True
                )
            self.dropped += 1


def open_otel(options: OtelOptions, prices: PriceTable = LIST_PRICES) -> OtelSink:
    """A sink that exports to a collector. Raises `ConfigError` if the extra is not installed."""
    try:
        sdk_resources = importlib.import_module("opentelemetry.sdk.resources")
        sdk_trace = importlib.import_module("opentelemetry.sdk.trace")
        trace_export = importlib.import_module("opentelemetry.sdk.trace.export")
        sdk_metrics = importlib.import_module("opentelemetry.sdk.metrics")
        metrics_export = importlib.import_module("opentelemetry.sdk.metrics.export")
        metrics_view = importlib.import_module("opentelemetry.sdk.metrics.view")
        http_traces = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        http_metrics = importlib.import_module("opentelemetry.exporter.otlp.proto.http.metric_exporter")
        parsing = importlib.import_module("opentelemetry.util.re")
    except ImportError as error:
        raise ConfigError(
            "otel", "", "the OpenTelemetry packages", got=f"no module {error.name}", hint="pip install 'loopline[otel]'"
        ) from error
    resource = sdk_resources.Resource.create({"service.name": options.agent_name, "service.version": options.version})
    base = None if options.endpoint is None else options.endpoint.rstrip("/")

    def headers(kind: str) -> dict[str, str] | None:
        # The specification: those of one kind are in place of those of all.
        env = options.environment
        text = env.get(f"OTEL_EXPORTER_OTLP_{kind}_HEADERS") or env.get("OTEL_EXPORTER_OTLP_HEADERS", "")
        return parsing.parse_env_headers(text, liberal=True) if text else None

    spans = http_traces.OTLPSpanExporter(
        endpoint=base and f"{base}/v1/traces", headers=headers("TRACES"), timeout=options.timeout_s
    )
    tracer_provider = sdk_trace.TracerProvider(resource=resource, shutdown_on_exit=False)
    tracer_provider.add_span_processor(trace_export.BatchSpanProcessor(spans))
    reader = metrics_export.PeriodicExportingMetricReader(
        http_metrics.OTLPMetricExporter(
            endpoint=base and f"{base}/v1/metrics", headers=headers("METRICS"), timeout=options.timeout_s
        ),
        export_interval_millis=options.interval_s * 1000,
    )
    views = [
        metrics_view.View(
            instrument_name=metric.name, aggregation=metrics_view.ExplicitBucketHistogramAggregation(metric.buckets)
        )
        for metric in names.ALL
        if metric.kind == "histogram"
    ]
    meter_provider = sdk_metrics.MeterProvider([reader], resource=resource, shutdown_on_exit=False, views=views)
    return OtelSink(tracer_provider, meter_provider, options, prices)


class _Exporter:
    """Turns events into spans and measurements. Lives in the sink's thread."""

    def __init__(self, tracer_provider: Any, meter_provider: Any, options: OtelOptions, prices: PriceTable) -> None:
        self._trace = importlib.import_module("opentelemetry.trace")
        self._tracer = tracer_provider.get_tracer(names.SCOPE, names.CONVENTIONS)
        meter = meter_provider.get_meter(names.SCOPE, names.CONVENTIONS)
        self._instruments = {metric.name: _instrument(meter, metric) for metric in names.ALL}
        self._options, self._prices = options, prices
        self._rollup = Rollup(prices=prices, max_turns=200)
        self._turns: dict[str, Any] = {}
        self._calls: dict[str, Any] = {}
        self._tools: dict[tuple[str | None, str], Any] = {}
        self._errors: set[str] = set()

    def take(self, event: ev.Event) -> None:
        if not self._rollup.fold(event):
            return
        match event:
            case ev.TurnStarted(turn=str(turn)):
                self._turn_started(self._rollup.turns[turn])
            case ev.TurnFinished(turn=str(turn)):
                self._turn_finished(self._rollup.turns[turn])
            case ev.CallSent(call=str(call), warmup=False):
                self._call_sent(self._rollup.calls[call])
            case ev.CallCompleted(call=str(call)) if not self._rollup.calls[call].warmup:
                self._call_completed(self._rollup.calls[call])
            case ev.CallProgress():
                self._record(names.OUTPUT_RATE, event.rate_est, {})
            case ev.ToolStarted():
                self._tool_started(event)
            case ev.ToolFinished():
                self._tool_finished(event)
            case ev.ConnectionClosed():
                self._record(names.CONNECTION_AGE, event.age_s, {})

    def _turn_started(self, row: TurnRow) -> None:
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": self._options.agent_name,
            **({"gen_ai.conversation.id": row.session} if row.session else {}),
        }
        self._turns[row.turn] = self._tracer.start_span(
            f"invoke_agent {self._options.agent_name}",
            context=None,
            kind=self._trace.SpanKind.INTERNAL,
            attributes=attributes,
            start_time=row.started_ns,
        )

    def _turn_finished(self, row: TurnRow) -> None:
        label = {"gen_ai.agent.name": self._options.agent_name}
        error = {} if row.status == "completed" else {"error.type": str(row.status)}
        self._record(names.AGENT_DURATION, row.duration_ns / 1e9, {**label, **error})
        calls = sum(not self._rollup.calls[call].warmup for call in row.calls)
        self._record(names.AGENT_CALLS, calls, label)
        self._record(names.AGENT_TOOLS, len(row.tools), label)
        for stage, ns in row.stages_ns.items():
            self._record(names.STAGE_DURATION, ns / 1e9, {"stage": stage, "source": "client"})
        self._record_ms(names.TURN_TTFT, row.ttft_ms, {})
        self._record_ms(names.TURN_VISIBLE_TTFT, row.visible_ttft_ms, {})
        for call in row.calls:
            self._end(self._calls.pop(call, None), row.ended_ns, {"error.type": str(row.status)})
        for tool in row.tools:
            span = self._tools.pop((row.turn, tool.tool_call), None)
            self._end(span, row.ended_ns, {"error.type": str(row.status)})
        stages = {f"loopline.turn.stage.{stage}": ns / 1e9 for stage, ns in row.stages_ns.items()}
        self._end(self._turns.pop(row.turn, None), row.ended_ns, {**stages, **error})

    def _call_sent(self, row: CallRow) -> None:
        """One span per `response.create`: an attempt that is repeated ends with what became of it."""
        self._end(self._calls.pop(row.call, None), row.attempt_ns, {"error.type": str(row.reuse)})
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self._options.provider,
            "gen_ai.request.stream": True,
            "openai.api.type": "responses",
            "loopline.reuse": str(row.reuse),
            "loopline.attempt": row.attempts,
            **self._server(),
        }
        if row.model is not None:
            attributes["gen_ai.request.model"] = row.model
        if row.session is not None:
            attributes["gen_ai.conversation.id"] = row.session
        self._calls[row.call] = self._tracer.start_span(
            f"chat {row.model}",
            context=self._parent(row.turn),
            kind=self._trace.SpanKind.CLIENT,
            attributes=attributes,
            start_time=row.attempt_ns,
        )

    def _call_completed(self, row: CallRow) -> None:
        duration_ns = ms_to_ns(row.duration_ms or 0.0)
        if row.attempts > 1 and row.ended_ns is not None:
            duration_ns = row.ended_ns - row.attempt_ns
        error = {} if row.status == "completed" else {"error.type": self._error(row.error_code or str(row.status))}
        told = {
            "gen_ai.response.id": row.response_id,
            "gen_ai.response.finish_reasons": None if row.finish_reason is None else [row.finish_reason],
            "gen_ai.response.time_to_first_chunk": None if row.ttft_ms is None else row.ttft_ms / 1000,
            "gen_ai.usage.input_tokens": row.input_tokens,
            "gen_ai.usage.output_tokens": row.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": row.cached_tokens,
            "gen_ai.usage.cache_write.input_tokens": row.cache_write_tokens,
            "gen_ai.usage.reasoning.output_tokens": row.reasoning_tokens,
        }
        known = {name: value for name, value in told.items() if value is not None}
        self._end(self._calls.pop(row.call, None), row.attempt_ns + duration_ns, {**known, **error})
        self._measure_call(row, duration_ns, error)

    def _measure_call(self, row: CallRow, duration_ns: int, error: dict[str, str]) -> None:
        label = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self._options.provider,
            "gen_ai.request.model": self._model(row.model),
            **self._server(),
        }
        self._record(names.CALL_DURATION, duration_ns / 1e9, {**label, **error})
        self._record_ms(names.FIRST_CHUNK, row.ttft_ms, label)
        for gap_ms, times in Sketch(GAP_ERROR, row.chunk_gaps).values():
            for _ in range(times):
                self._record_ms(names.CHUNK_GAP, gap_ms, label)
        nothing = 0 if row.status == "failed" else None
        counted = {**label, "gen_ai.token.modality": "unknown"}
        for metric, tokens in (
            (names.INPUT_TOKENS, nothing if row.input_tokens is None else row.input_tokens),
            (names.OUTPUT_TOKENS, nothing if row.output_tokens is None else row.output_tokens),
            (names.CACHE_READ_TOKENS, row.cached_tokens),
            (names.CACHE_WRITE_TOKENS, row.cache_write_tokens),
            (names.REASONING_TOKENS, row.reasoning_tokens),
        ):
            self._record(metric, tokens, counted)
        self._record(names.CALL_INPUT, row.input_tokens, {**label, **error})
        self._record(names.CALL_OUTPUT, row.output_tokens, {**label, **error})
        self._record(names.CONNECTION_STATE, 1, {"outcome": str(row.reuse)})
        self._record(names.OUTPUT_RATE, row.rate, {})
        self._record(names.COST, row.cost_usd, {"gen_ai.request.model": label["gen_ai.request.model"]})
        if row.bytes_saved and row.bytes_full and row.input_tokens is not None:
            self._record(names.REUSED_INPUT, round(row.input_tokens * row.bytes_saved / row.bytes_full), label)

    def _tool_started(self, event: ev.ToolStarted) -> None:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.name,
            "gen_ai.tool.call.id": event.tool_call,
        }
        self._tools[(event.turn, event.tool_call)] = self._tracer.start_span(
            f"execute_tool {event.name}",
            context=self._parent(event.turn),
            kind=self._trace.SpanKind.INTERNAL,
            attributes=attributes,
            start_time=self._rollup.axis.at_ns(event),
        )

    def _tool_finished(self, event: ev.ToolFinished) -> None:
        error = {} if event.status == "ok" else {"error.type": event.status}
        span = self._tools.pop((event.turn, event.tool_call), None)
        self._end(span, self._rollup.axis.at_ns(event), error)
        self._record_ms(names.TOOL_DURATION, event.duration_ms, {"gen_ai.operation.name": "execute_tool", **error})

    def _parent(self, turn: str | None) -> Any:
        root = self._turns.get(turn or "")
        return None if root is None else self._trace.set_span_in_context(root)

    def _end(self, span: Any, end_ns: int | None, attributes: dict[str, Any]) -> None:
        if span is None:
            return
        span.set_attributes(attributes)
        if "error.type" in attributes:
            span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, attributes["error.type"]))
        span.end(end_ns)

    def _record(self, metric: names.Metric, value: float | None, attributes: dict[str, Any]) -> None:
        if value is None:
            return
        instrument = self._instruments[metric.name]
        if metric.kind == "counter":
            instrument.add(value, attributes)
        elif metric.kind == "gauge":
            instrument.set(value, attributes)
        else:
            instrument.record(value, attributes)

    def _record_ms(self, metric: names.Metric, ms: float | None, attributes: dict[str, Any]) -> None:
        self._record(metric, None if ms is None else ms / 1000, attributes)

    def _server(self) -> dict[str, Any]:
        if self._options.server is None:
            return {}
        host, port = self._options.server
        return {"server.address": host, "server.port": port}

    def _model(self, model: str | None) -> str:
        return model if model is not None and (self._prices.knows(model) or model in self._options.models) else OTHER

    def _error(self, code: str) -> str:
        if code not in self._errors and len(self._errors) >= MAX_ERRORS:
            return UNKNOWN_ERROR
        self._errors.add(code)
        return code


def _instrument(meter: Any, metric: names.Metric) -> Any:
    make = {"histogram": meter.create_histogram, "counter": meter.create_counter, "gauge": meter.create_gauge}
    return make[metric.kind](metric.name, unit=metric.unit, description=metric.description)
