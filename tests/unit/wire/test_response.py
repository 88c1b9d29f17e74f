from __future__ import annotations

import json

import msgspec

from agent_core.wire.codec import encode
from agent_core.wire.response import (
    InputTokensDetails,
    OutputTokensDetails,
    Response,
    ResponseError,
    Usage,
)
from agent_core.wire.schema import load_schema

REQUIRED = frozenset(
    {
        "id",
        "object",
        "created_at",
        "completed_at",
        "status",
        "incomplete_details",
        "model",
        "previous_response_id",
        "instructions",
        "output",
        "error",
        "tools",
        "tool_choice",
        "truncation",
        "parallel_tool_calls",
        "text",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
        "top_logprobs",
        "temperature",
        "reasoning",
        "usage",
        "max_output_tokens",
        "max_tool_calls",
        "store",
        "background",
        "service_tier",
        "metadata",
        "safety_identifier",
        "prompt_cache_key",
    }
)
"""The keys of ResponseResource in the Open Responses specification."""


def test_the_required_keys_are_always_written_and_no_others() -> None:
    written = json.loads(encode(Response()))
    assert written.keys() == REQUIRED
    assert len(REQUIRED) == 31
    assert written["output"] == written["tools"] == []
    assert written["text"] == {"format": {"type": "text"}}
    assert written["metadata"] == {}
    for name in ("usage", "error", "incomplete_details", "instructions", "reasoning", "completed_at"):
        assert written[name] is None, name


def test_the_struct_knows_every_field_that_the_schema_knows() -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(Response)}
    assert fields == {*load_schema().types["Response"], *REQUIRED}


def test_whole_seconds_are_written_as_integers() -> None:
    assert b'"created_at":1764490000,' in encode(Response(created_at=1764490000))


def test_output_lists_are_not_shared() -> None:
    one, two = Response(), Response()
    one.output.append(msgspec.Raw(b"{}"))
    assert two.output == []


def test_token_details_are_always_complete() -> None:
    """Codex drops a completed event whose details lack `cached_tokens` or `reasoning_tokens`."""
    usage = Usage(
        input_tokens=0,
        output_tokens=0,
        total_tokens=0,
        input_tokens_details=InputTokensDetails(),
        output_tokens_details=OutputTokensDetails(),
    )
    assert json.loads(encode(usage)) == {
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 0,
    }


def test_an_error_is_written_with_code_and_message() -> None:
    assert json.loads(encode(ResponseError(code="server_error", message="Broke."))) == {
        "code": "server_error",
        "message": "Broke.",
    }
