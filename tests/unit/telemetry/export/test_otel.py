"""OTLP as a real receiver gets it: names, units, labels, values, and the shape of a turn's trace."""

from __future__ import annotations

import gzip
import logging
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agent_core.errors import ConfigError
from agent_core.telemetry import events as ev
from agent_core.telemetry.export import otel_names as names
from agent_core.telemetry.export.otel import OtelOptions, OtelSink, open_otel
from tests.support.telemetry.scene import MS, Scene

CONVENTION_NAMES = {
    "gen_ai.client.inference.duration": "s",
    "gen_ai.client.inference.time_to_first_chunk": "s",
    "gen_ai.client.inference.time_per_output_chunk": "s",
    "gen_ai.client.inference.usage.input_tokens": "{token}",
    "gen_ai.client.inference.usage.output_tokens": "{token}",
    "gen_ai.client.inference.usage.cache_read.input_tokens": "{token}",
    "gen_ai.client.inference.usage.cache_write.input_tokens": "{token}",
    "gen_ai.client.inference.usage.reasoning.output_tokens": "{token}",
    "gen_ai.client.inference.operation.input_tokens": "{token}",
    "gen_ai.client.inference.operation.output_tokens": "{token}",
    "gen_ai.invoke_agent.duration": "s",
    "gen_ai.invoke_agent.inference_calls": "{call}",
    "gen_ai.invoke_agent.tool_calls": "{call}",
    "gen_ai.execute_tool.duration": "s",
}
"""The GenAI conventions, client side, at v0.1.0."""
OWN_NAMES = {
    "loopline.turn.stage.duration",
    "loopline.connection.state",
    "loopline.connection.reused_input_tokens",
    "loopline.connection.age",
    "loopline.output_rate",
    "loopline.turn.ttft",
    "loopline.turn.visible_ttft",
    "loopline.cost.usd",
}
LABELS = {
    "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.agent.name",
    "gen_ai.token.modality", "server.address", "server.port", "error.type", "stage", "source", "outcome",
}  # fmt: skip


class Receiver(ThreadingHTTPServer):
    """Takes OTLP over HTTP and decodes it with the protocol's own classes."""

    daemon_threads = True

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: dict[str, Any] = {}
        self.scopes: set[tuple[str, str]] = set()
        self.keys: dict[str, str | None] = {}
        super().__init__(("127.0.0.1", 0), Handler)

    def take(self, path: str, body: bytes) -> None:
        if path == "/v1/traces":
            for spans in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in spans.scope_spans:
                    self.scopes.add((scope.scope.name, scope.scope.version))
                    self.spans += scope.spans
        elif path == "/v1/metrics":
            for metrics in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope in metrics.scope_metrics:
                    self.scopes.add((scope.scope.name, scope.scope.version))
                    self.metrics |= {metric.name: metric for metric in scope.metrics}

    def span(self, name: str) -> Any:
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def points(self, name: str) -> list[Any]:
        metric = self.metrics[name]
        return list(getattr(metric, metric.WhichOneof("data")).data_points)

    def point(self, name: str, **labels: str) -> Any:
        wanted = {key.replace("__", "."): value for key, value in labels.items()}
        (found,) = [point for point in self.points(name) if wanted.items() <= attributes(point).items()]
        return found


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.keys[self.path] = self.headers["x-key"]
        self.server.take(self.path, body)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        return


def attributes(carrier: Any) -> dict[str, Any]:
    found = {}
    for pair in carrier.attributes:
        kind = pair.value.WhichOneof("value")
        value = getattr(pair.value, kind)
        found[pair.key] = [item.string_value for item in value.values] if kind == "array_value" else value
    return found


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join(10)
    server.server_close()


def sink_to(receiver: Receiver, **options: Any) -> OtelSink:
    return open_otel(OtelOptions(endpoint=f"http://127.0.0.1:{receiver.server_port}", interval_s=3600, **options))


def a_turn(scene: Scene) -> None:
    """Two calls, one of them with a lost chain, a tool that fails, and a closed connection."""
    scene.start_session()
    scene.open_connection()
    scene.complete(scene.send("warm", warmup=True, reuse="first"), 1, input_tokens=777, output_tokens=0)
    scene.start_turn()
    scene.call(
        ttft_ms=200, decode_ms=1000, sent={"reuse": "reused", "bytes_up": 100, "bytes_full": 1000},
        reasoning_tokens=4, cache_write_tokens=50, finish_reason="stop", chunk_gaps={20: 3, 30: 1},
    )  # fmt: skip
    tool_call = scene.start_tool("shell", "tool_9")
    scene.wait(40)
    scene.finish_tool(tool_call, 40, "shell", "error")
    call = scene.send(reuse="reused")
    scene.wait(10)
    scene.send(call, attempt=2, reuse="not_found")
    scene.wait(30)
    scene.delta(call, 30)
    scene.wait(20)
    scene.complete(call, 60, 20.0, ttft_ms=30.0, input_tokens=500, cached_tokens=0, output_tokens=20)
    scene.finish_turn()
    scene.emit(ev.ConnectionClosed(connection="conn_1", age_s=125.0))


def test_headers_come_from_what_is_no_more_in_the_environment(receiver: Receiver) -> None:
    kept = {"OTEL_EXPORTER_OTLP_HEADERS": "x-key=one%202", "OTEL_EXPORTER_OTLP_METRICS_HEADERS": "x-key=two"}
    sink = sink_to(receiver, environment=kept)
    a_turn(Scene(sink))
    sink.close(20)
    assert receiver.keys == {"/v1/traces": "one 2", "/v1/metrics": "two"}


def test_metrics_carry_the_names_and_units_of_the_conventions(receiver: Receiver) -> None:
    sink = sink_to(receiver)
    a_turn(Scene(sink))
    sink.close(20)
    assert sink.dropped == 0
    assert set(receiver.metrics) == set(CONVENTION_NAMES) | OWN_NAMES == {metric.name for metric in names.ALL}
    assert {name: receiver.metrics[name].unit for name in CONVENTION_NAMES} == CONVENTION_NAMES
    assert receiver.metrics["loopline.cost.usd"].unit == "{USD}"
    assert receiver.scopes == {("loopline.telemetry", "0.1.0")}
    for name in receiver.metrics:
        for point in receiver.points(name):
            assert set(attributes(point)) <= LABELS, "nothing that grows with sessions or users"
    assert all(
        attributes(point)["gen_ai.token.modality"] == "unknown"
        for name in CONVENTION_NAMES
        if ".usage." in name
        for point in receiver.points(name)
    )


def test_metrics_carry_the_figures(receiver: Receiver) -> None:
    sink = sink_to(receiver)
    a_turn(Scene(sink))
    sink.close(20)
    usage = "gen_ai.client.inference.usage"
    assert receiver.point(f"{usage}.input_tokens").as_int == 1500, "the warm-up's 777 are nobody's"
    assert receiver.point(f"{usage}.output_tokens").as_int == 51
    assert receiver.point(f"{usage}.cache_read.input_tokens").as_int == 800
    assert receiver.point(f"{usage}.cache_write.input_tokens").as_int == 50
    assert receiver.point(f"{usage}.reasoning.output_tokens").as_int == 4
    duration = receiver.point("gen_ai.client.inference.duration")
    assert (duration.count, duration.sum) == (2, pytest.approx(1.2 + 0.05))
    assert tuple(duration.explicit_bounds) == names.SECONDS
    gaps = receiver.point("gen_ai.client.inference.time_per_output_chunk")
    assert gaps.count == 4
    assert tuple(gaps.explicit_bounds)[:4] == (0.001, 0.002, 0.005, 0.01)
    assert receiver.point("gen_ai.client.inference.time_to_first_chunk").sum == pytest.approx(0.23)
    assert receiver.point("gen_ai.execute_tool.duration", error__type="error").sum == pytest.approx(0.04)
    assert receiver.point("gen_ai.invoke_agent.inference_calls").sum == 2
    assert receiver.point("gen_ai.invoke_agent.tool_calls").sum == 1
    stages = {attributes(point)["stage"]: point.sum for point in receiver.points("loopline.turn.stage.duration")}
    assert sum(stages.values()) == pytest.approx(receiver.point("gen_ai.invoke_agent.duration").sum)
    assert stages["client_tool"] == pytest.approx(0.04)
    outcomes = {attributes(point)["outcome"]: point.as_int for point in receiver.points("loopline.connection.state")}
    assert outcomes == {"reused": 1, "not_found": 1}
    assert receiver.point("loopline.connection.reused_input_tokens").as_int == 900
    assert receiver.point("loopline.connection.age").sum == 125.0
    assert receiver.point("loopline.turn.ttft").sum == pytest.approx(0.2)
    assert receiver.point("loopline.cost.usd", gen_ai__request__model="gpt-5").as_double > 0


def test_a_turn_is_one_trace(receiver: Receiver) -> None:
    sink = sink_to(receiver, server=("api.example", 443), provider="openai")
    scene = Scene(sink)
    a_turn(scene)
    sink.close(20)
    root = receiver.span("invoke_agent loopline")
    assert root.parent_span_id == b""
    assert (root.end_time_unix_nano - root.start_time_unix_nano) == 1300 * MS
    assert attributes(root)["gen_ai.conversation.id"] == scene.session
    assert attributes(root)["loopline.turn.stage.client_tool"] == pytest.approx(0.04)
    children = [span for span in receiver.spans if span.parent_span_id == root.span_id]
    assert {span.trace_id for span in receiver.spans} == {root.trace_id}
    assert sorted(span.name for span in children) == ["chat gpt-5", "chat gpt-5", "chat gpt-5", "execute_tool shell"]
    tool = receiver.span("execute_tool shell")
    assert attributes(tool)["gen_ai.tool.call.id"] == "tool_9"
    assert tool.end_time_unix_nano - tool.start_time_unix_nano == 40 * MS
    assert tool.status.code == 2
    first, lost, repeated = sorted(
        (span for span in children if span.name == "chat gpt-5"), key=lambda span: span.start_time_unix_nano
    )
    told = attributes(first)
    assert first.kind == 3, "CLIENT"
    assert first.end_time_unix_nano - first.start_time_unix_nano == 1200 * MS
    assert (
        told
        | {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "gpt-5",
            "gen_ai.response.id": "resp_sess_1_call_1",
            "gen_ai.response.finish_reasons": ["stop"],
            "gen_ai.response.time_to_first_chunk": 0.2,
            "gen_ai.usage.input_tokens": 1000,
            "gen_ai.usage.cache_read.input_tokens": 800,
            "server.address": "api.example",
            "server.port": 443,
            "openai.api.type": "responses",
        }
        == told
    )
    assert attributes(lost)["error.type"] == "not_found"
    assert attributes(repeated)["loopline.reuse"] == "not_found"
    assert "error.type" not in attributes(repeated)
    assert repeated.end_time_unix_nano - repeated.start_time_unix_nano == 50 * MS
    text = str(receiver.spans) + str(receiver.metrics)
    assert "gen_ai.input.messages" not in text


def test_labels_are_bounded(receiver: Receiver) -> None:
    sink = sink_to(receiver, models=frozenset({"team-model"}))
    scene = Scene(sink)
    for number in range(150):
        call = scene.send(model=f"typo-{number}")
        scene.complete(call, 1, status="failed", error_code=f"code-{number}")
    scene.call(sent={"model": "team-model"})
    scene.call(sent={"model": "gpt-5"})
    sink.close(20)
    points = receiver.points("gen_ai.client.inference.duration")
    models = {attributes(point)["gen_ai.request.model"] for point in points}
    assert models == {"other", "team-model", "gpt-5"}
    errors = {attributes(point).get("error.type") for point in points}
    assert len(errors) <= 66
    assert "_OTHER" in errors
    failed = receiver.point("gen_ai.client.inference.usage.input_tokens", gen_ai__request__model="other")
    assert failed.as_int == 0, "a failed call counts 0 tokens of unknown modality"


def test_what_is_left_running_ends_with_its_turn(receiver: Receiver) -> None:
    sink = sink_to(receiver)
    scene = Scene(sink)
    scene.start_turn()
    scene.send()
    scene.start_tool("shell")
    scene.wait(25)
    scene.finish_turn("cancelled")
    sink.close(20)
    assert sorted(span.name for span in receiver.spans) == [
        "chat gpt-5", "execute_tool shell", "invoke_agent loopline",
    ]  # fmt: skip
    assert {attributes(span)["error.type"] for span in receiver.spans} == {"cancelled"}
    assert {span.end_time_unix_nano for span in receiver.spans} == {receiver.spans[0].end_time_unix_nano}


def test_a_collector_that_is_away_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "opentelemetry")
    sink = open_otel(OtelOptions(endpoint="http://127.0.0.1:9", interval_s=3600, timeout_s=1.0))
    scene = Scene(sink)
    started = time.monotonic()
    for _ in range(500):
        scene.emit(ev.ConnectionPrewarmed())
    a_turn(scene)
    assert time.monotonic() - started < 20.0
    sink.close(0.1)
    assert time.monotonic() - started < 20.0, "closing is bounded, whatever the exporters still try"
    sink.close(60)
    assert not sink._thread.is_alive()
    assert sink.dropped == 0


def test_a_fault_of_the_exporter_is_one_line_and_counted(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    sink = sink_to(receiver)
    for _ in range(3):
        sink.emit(ev.CallCompleted(call="x", status="completed", duration_ms="?"))  # type: ignore[arg-type]
    sink.close(20)
    assert sink.dropped == 3
    assert len([record for record in caplog.records if record.name.startswith("agent_core")]) == 1


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ConfigError) as caught:
        open_otel(OtelOptions())
    assert caught.value.hint == "pip install 'loopline[otel]'"
