"""Names, kinds and units of what the OpenTelemetry exporter emits. Data only.

The GenAI part follows the conventions of open-telemetry/semantic-conventions-genai at `CONVENTIONS`, which are
still in development: they are pinned here, and only the new names are emitted. What they lack goes under our own
prefix. Labels are bounded: never a session, turn, user or conversation.
"""

from __future__ import annotations

from typing import Literal

import msgspec

CONVENTIONS = "0.1.0"
SCOPE = "loopline.telemetry"

SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""Buckets of the conventions for durations."""
CHUNK_SECONDS = (0.001, 0.002, 0.005, *SECONDS)
"""With three more below 10 ms: a stream of 150 tokens/s has gaps of 6.7 ms (vllm-project/vllm#55276)."""
TOKENS = tuple(float(4**power) for power in range(14))
COUNTS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
MINUTES = (60.0, 300.0, 600.0, 1200.0, 1800.0, 2400.0, 3000.0, 3300.0, 3600.0)


class Metric(msgspec.Struct, frozen=True):
    """`unit` is UCUM; one in braces is an annotation, which Prometheus exporters drop, where a bare `USD` would end
    up in the name."""

    name: str
    kind: Literal["histogram", "counter", "gauge"]
    unit: str
    description: str
    buckets: tuple[float, ...] = ()


CALL_DURATION = Metric("gen_ai.client.inference.duration", "histogram", "s", "Duration of a model call", SECONDS)
FIRST_CHUNK = Metric(
    "gen_ai.client.inference.time_to_first_chunk", "histogram", "s", "From the request to the first delta", SECONDS
)
CHUNK_GAP = Metric(
    "gen_ai.client.inference.time_per_output_chunk", "histogram", "s", "Between two deltas", CHUNK_SECONDS
)
INPUT_TOKENS = Metric("gen_ai.client.inference.usage.input_tokens", "counter", "{token}", "Input tokens")
OUTPUT_TOKENS = Metric("gen_ai.client.inference.usage.output_tokens", "counter", "{token}", "Output tokens")
CACHE_READ_TOKENS = Metric(
    "gen_ai.client.inference.usage.cache_read.input_tokens", "counter", "{token}", "Input tokens read from a cache"
)
CACHE_WRITE_TOKENS = Metric(
    "gen_ai.client.inference.usage.cache_write.input_tokens", "counter", "{token}", "Input tokens written to a cache"
)
REASONING_TOKENS = Metric(
    "gen_ai.client.inference.usage.reasoning.output_tokens", "counter", "{token}", "Output tokens of reasoning"
)
CALL_INPUT = Metric(
    "gen_ai.client.inference.operation.input_tokens", "histogram", "{token}", "Input tokens of a call", TOKENS
)
CALL_OUTPUT = Metric(
    "gen_ai.client.inference.operation.output_tokens", "histogram", "{token}", "Output tokens of a call", TOKENS
)
AGENT_DURATION = Metric("gen_ai.invoke_agent.duration", "histogram", "s", "Duration of a turn", SECONDS)
AGENT_CALLS = Metric("gen_ai.invoke_agent.inference_calls", "histogram", "{call}", "Model calls of a turn", COUNTS)
AGENT_TOOLS = Metric("gen_ai.invoke_agent.tool_calls", "histogram", "{call}", "Tool calls of a turn", COUNTS)
TOOL_DURATION = Metric("gen_ai.execute_tool.duration", "histogram", "s", "Duration of a tool", SECONDS)

STAGE_DURATION = Metric(
    "loopline.turn.stage.duration", "histogram", "s", "Part of a turn's wall time; the stages add up to it", SECONDS
)
TURN_TTFT = Metric("loopline.turn.ttft", "histogram", "s", "From the user's message to the first delta", SECONDS)
TURN_VISIBLE_TTFT = Metric(
    "loopline.turn.visible_ttft", "histogram", "s", "From the user's message to the first visible delta", SECONDS
)
CONNECTION_STATE = Metric("loopline.connection.state", "counter", "{call}", "Calls by what became of their chain")
REUSED_INPUT = Metric(
    "loopline.connection.reused_input_tokens", "counter", "{token}", "Input tokens not sent again; an estimate"
)
CONNECTION_AGE = Metric("loopline.connection.age", "histogram", "s", "Age of a connection at its end", MINUTES)
OUTPUT_RATE = Metric("loopline.output_rate", "gauge", "{token}/s", "Output tokens per second of the latest call")
COST = Metric("loopline.cost.usd", "counter", "{USD}", "List price of the calls whose price is known; an estimate")

ALL = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
