"""What each emitter exports, as data: which record is a call, a tool, a turn, and where its figures stand.

Each entry cites its source. A field lists attributes in the order in which they are looked for; a unit behind a colon
(`:s`) is turned into ms. What an emitter does not say has no entry, and stays missing.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Fields = dict[str, tuple[str, ...]]
Kind = Literal["call", "tool", "begin", "end", "request"]
"""`begin` and `end` are a turn's; `request` is only the instant at which a call was sent."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """Records of `signal` that have all of `when` (an empty tuple: the attribute is there) tell of a `kind`.

    `@name` in `when` is the record's own name. `turn` names the attributes with the turn's id; `@trace` is the trace,
    `@time` the turn of its session that ran then. `const` are fields that every such record has.
    """

    signal: Literal["logs", "traces"]
    kind: Kind
    when: Fields
    fields: Fields = {}
    turn: tuple[str, ...] = ("@trace",)
    const: dict[str, str] = {}
    root_only: bool = False
    """Only a span without a parent: what is within is a part of it."""


class Emitter(msgspec.Struct, frozen=True, kw_only=True):
    """`services`: beginnings of `service.name`; none matches every one. `exclusive`: input tokens do not hold the
    cached ones. `ttft`: what its first-token time counts from and to, "" if it tells none."""

    name: str
    services: tuple[str, ...]
    source: str
    session: tuple[str, ...]
    rules: tuple[Rule, ...]
    ttft: str = ""
    exclusive: bool = False


CODEX = Emitter(
    name="codex",
    services=("codex",),
    source="measured: Codex CLI 0.171.0 against a service of ours; https://developers.openai.com/codex/config-advanced",
    session=("conversation.id", "thread.id"),
    ttft="from the request's sending to the first event with content, in whole ms",
    rules=(
        Rule(signal="logs", kind="begin", when={"@name": ("codex.user_prompt",)}),
        Rule(
            signal="logs",
            kind="request",
            when={"@name": ("codex.websocket_request",)},
            fields={"before_ms": ("duration_ms",)},
            const={"transport": "websocket"},
        ),
        Rule(
            signal="logs",
            kind="request",
            when={"@name": ("codex.api_request",)},
            fields={"before_ms": ("duration_ms",)},
            const={"transport": "http"},
        ),
        Rule(
            signal="logs",
            kind="call",
            when={"@name": ("codex.sse_event",), "event.kind": ("response.completed",)},
            turn=("@time",),
            fields={
                "model": ("model",),
                "input_tokens": ("input_token_count",),
                "cached_tokens": ("cached_token_count",),
                "cache_write_tokens": ("cache_write_token_count",),
                "output_tokens": ("output_token_count",),
                "reasoning_tokens": ("reasoning_token_count",),
                "ttft_ms": ("ttft_ms",),
            },
            const={"warmup": "no ttft_ms, output_tokens 0"},
        ),
        Rule(
            signal="logs",
            kind="call",
            when={"@name": ("codex.sse_event",), "event.kind": ("response.failed",)},
            turn=("@time",),
            fields={"model": ("model",)},
            const={"status": "failed", "error_code": "response_failed"},
        ),
        Rule(
            signal="logs",
            kind="tool",
            when={"@name": ("codex.tool_result",)},
            turn=("@time",),
            fields={"name": ("tool_name",), "id": ("call_id",), "duration_ms": ("duration_ms",), "ok": ("success",)},
        ),
        # Its spans repeat the tokens of its logs; only the turn's own span says something new: when the turn ended.
        Rule(signal="traces", kind="end", when={"@name": ("session_task.turn",), "turn.id": ()}),
    ),
)

COPILOT = Emitter(
    name="copilot",
    services=("github-copilot", "copilot"),
    source="measured: Copilot CLI 1.0.102 against a service of ours; OpenTelemetry GenAI conventions",
    session=("gen_ai.conversation.id",),
    ttft="from the request to the first chunk",
    rules=(
        Rule(
            signal="traces",
            kind="call",
            when={"gen_ai.operation.name": ("chat",)},
            fields={
                "model": ("gen_ai.response.model", "gen_ai.request.model"),
                "response_id": ("gen_ai.response.id",),
                "previous": ("gen_ai.request.previous_response.id",),
                "input_tokens": ("gen_ai.usage.input_tokens",),
                "cached_tokens": ("gen_ai.usage.cache_read.input_tokens",),
                "cache_write_tokens": (
                    "gen_ai.usage.cache_creation.input_tokens",
                    "gen_ai.usage.cache_write.input_tokens",
                ),
                "output_tokens": ("gen_ai.usage.output_tokens",),
                "reasoning_tokens": ("gen_ai.usage.reasoning.output_tokens",),
                "ttft_ms": ("gen_ai.response.time_to_first_chunk:s",),
                "finish_reason": ("gen_ai.response.finish_reasons",),
                "error_code": ("error.type",),
            },
        ),
        Rule(
            signal="traces",
            kind="tool",
            when={"gen_ai.operation.name": ("execute_tool",)},
            fields={"name": ("gen_ai.tool.name",), "id": ("gen_ai.tool.call.id",), "error_code": ("error.type",)},
        ),
        # Its token counts are the sums of its `chat` spans.
        Rule(signal="traces", kind="end", when={"gen_ai.operation.name": ("invoke_agent",)}, root_only=True),
    ),
)

CLAUDE = Emitter(
    name="claude",
    services=("claude-code",),
    source="documentation: https://code.claude.com/docs/en/monitoring-usage (events); the real client was not run",
    session=("session.id",),
    exclusive=True,
    rules=(
        Rule(
            signal="logs",
            kind="begin",
            when={"@name": ("user_prompt", "claude_code.user_prompt")},
            turn=("prompt.id",),
        ),
        Rule(
            signal="logs",
            kind="call",
            when={"@name": ("api_request", "claude_code.api_request")},
            turn=("prompt.id", "@time"),
            fields={
                "model": ("model",),
                "response_id": ("request_id",),
                "input_tokens": ("input_tokens",),
                "cached_tokens": ("cache_read_tokens",),
                "cache_write_tokens": ("cache_creation_tokens",),
                "output_tokens": ("output_tokens",),
                "duration_ms": ("duration_ms",),
                "cost_usd": ("cost_usd",),
            },
        ),
        Rule(
            signal="logs",
            kind="call",
            when={"@name": ("api_error", "claude_code.api_error")},
            turn=("prompt.id", "@time"),
            fields={"model": ("model",), "duration_ms": ("duration_ms",), "error_code": ("status_code",)},
            const={"status": "failed"},
        ),
        Rule(
            signal="logs",
            kind="tool",
            when={"@name": ("tool_result", "claude_code.tool_result")},
            turn=("prompt.id", "@time"),
            fields={
                "name": ("tool_name",),
                "id": ("tool_use_id",),
                "duration_ms": ("duration_ms",),
                "ok": ("success",),
                "output_bytes": ("tool_result_size_bytes",),
            },
        ),
    ),
)

_LLM: Fields = {
    "model": (
        "gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "llm.request.model", "ai.model.id",
    ),
    "response_id": ("gen_ai.response.id",),
    "previous": ("gen_ai.request.previous_response.id",),
    "input_tokens": (
        "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt",
        "llm.usage.prompt_tokens",
    ),
    "cached_tokens": (
        "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read",
    ),
    "cache_write_tokens": (
        "gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens", "llm.token_count.prompt_details.cache_write",
    ),
    "output_tokens": (
        "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion",
        "llm.usage.completion_tokens",
    ),
    "reasoning_tokens": (
        "gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens",
        "llm.token_count.completion_details.reasoning",
    ),
    "ttft_ms": ("gen_ai.response.time_to_first_chunk:s", "ai.response.msToFirstChunk"),
    "finish_reason": ("gen_ai.response.finish_reasons",),
    "reuse": ("loopline.reuse",),
    "error_code": ("error.type",),
}  # fmt: skip
_TOOL: Fields = {
    "name": ("gen_ai.tool.name", "tool.name", "traceloop.entity.name", "ai.toolCall.name", "@name"),
    "id": ("gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id"),
    "error_code": ("error.type",),
}

GENAI = Emitter(
    name="genai",
    services=(),
    source="OpenTelemetry GenAI conventions 0.1.0; OpenLLMetry (traceloop.*, gen_ai.usage.prompt_tokens); "
    "OpenInference (openinference.span.kind, llm.token_count.*); AI SDK (ai.*)",
    session=(
        "gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id",
        "ai.telemetry.metadata.sessionId",
    ),
    ttft="as the exporter defines its first chunk",
    rules=(
        Rule(
            signal="traces",
            kind="call",
            when={"gen_ai.operation.name": ("chat", "text_completion", "generate_content", "embeddings")},
            fields=_LLM,
        ),
        Rule(signal="traces", kind="call", when={"openinference.span.kind": ("LLM",)}, fields=_LLM),
        Rule(signal="traces", kind="call", when={"llm.request.type": ("chat", "completion")}, fields=_LLM),
        Rule(signal="traces", kind="tool", when={"gen_ai.operation.name": ("execute_tool",)}, fields=_TOOL),
        Rule(signal="traces", kind="tool", when={"openinference.span.kind": ("TOOL",)}, fields=_TOOL),
        Rule(signal="traces", kind="tool", when={"traceloop.span.kind": ("tool",)}, fields=_TOOL),
        Rule(
            signal="traces",
            kind="end",
            when={"gen_ai.operation.name": ("invoke_agent", "invoke_workflow")},
            root_only=True,
        ),
        Rule(signal="traces", kind="end", when={"openinference.span.kind": ("AGENT", "CHAIN")}, root_only=True),
        Rule(signal="traces", kind="end", when={"traceloop.span.kind": ("workflow", "agent")}, root_only=True),
    ),
)  # fmt: skip

EMITTERS = (CODEX, COPILOT, CLAUDE, GENAI)


def emitter_of(service: str) -> Emitter:
    """Whose export a resource is; the general conventions for who is not known."""
    return next((one for one in EMITTERS if service.startswith(one.services)), GENAI) if service else GENAI
