"""Server events for tests: whole, legal ladders of one response, as plain dictionaries."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

Json = dict[str, Any]

USAGE: Json = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 12, "cache_write_tokens": 3},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 27,
}


def message(text: str, item_id: str = "msg_1") -> Json:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": [part]}


def tool_call(call_id: str = "call_1", name: str = "read", arguments: str = '{"path":"a.py"}') -> Json:
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
    }


def reasoning(text: str = "think", encrypted: str | None = "gAAAA", item_id: str = "rs_1") -> Json:
    summary = [{"type": "summary_text", "text": text}]
    return {"type": "reasoning", "id": item_id, "summary": summary, "encrypted_content": encrypted}


def tool_output(call_id: str = "call_1", output: str = "ok") -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def user(text: str) -> Json:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def response(response_id: str, status: str, output: Sequence[Json] = (), **fields: Any) -> Json:
    return {
        "id": response_id,
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": "test",
        "output": list(output),
        "error": None,
        "incomplete_details": None,
        "usage": None,
    } | fields


def response_started(response_id: str) -> list[Json]:
    running = response(response_id, "in_progress")
    return [
        {"type": "response.created", "response": running},
        {"type": "response.in_progress", "response": running},
    ]


def item_ladder(index: int, item: Json, pieces: int = 2) -> list[Json]:
    """The events of one output item: added, its parts and deltas, done."""
    place = {"output_index": index, "item_id": item["id"]}
    if item["type"] == "message":
        text = item["content"][0]["text"]
        at = place | {"content_index": 0}
        blank = item | {"status": "in_progress", "content": []}
        inner = [
            {"type": "response.content_part.added", "part": {"type": "output_text", "text": ""}} | at,
            *({"type": "response.output_text.delta", "delta": d, "logprobs": []} | at for d in _split(text, pieces)),
            {"type": "response.output_text.done", "text": text, "logprobs": []} | at,
            {"type": "response.content_part.done", "part": item["content"][0]} | at,
        ]
    elif item["type"] == "reasoning":
        text = item["summary"][0]["text"]
        at = place | {"summary_index": 0}
        blank = item | {"summary": [], "encrypted_content": None}
        kind = "response.reasoning_summary_text"
        inner = [
            {"type": "response.reasoning_summary_part.added", "part": {"type": "summary_text", "text": ""}} | at,
            *({"type": f"{kind}.delta", "delta": d} | at for d in _split(text, pieces)),
            {"type": f"{kind}.done", "text": text} | at,
            {"type": "response.reasoning_summary_part.done", "part": item["summary"][0]} | at,
        ]
    else:
        custom = item["type"] == "custom_tool_call"
        part = "input" if custom else "arguments"
        text = item[part]
        blank = item | {"status": "in_progress", part: ""}
        kind = "response.custom_tool_call_input" if custom else "response.function_call_arguments"
        inner = [
            *({"type": f"{kind}.delta", "delta": d} | place for d in _split(text, pieces)),
            {"type": f"{kind}.done", part: text} | place,
        ]
    return [
        {"type": "response.output_item.added", "output_index": index, "item": blank},
        *inner,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def ladder(
    response_id: str, *items: Json, usage: Json | None = USAGE, status: str = "completed", **fields: Any
) -> list[Json]:
    """All events of one response, numbered from 0. Further `fields` go into the terminal event's response."""
    body = itertools.chain.from_iterable(item_ladder(index, item) for index, item in enumerate(items))
    end = {
        "type": f"response.{status}",
        "response": response(response_id, status, items, usage=usage, **fields),
    }
    return numbered([*response_started(response_id), *body, end])


def warm(response_id: str) -> list[Json]:
    """What a service answers to `generate: false`."""
    return ladder(response_id, usage=USAGE | {"output_tokens": 0, "output_tokens_details": {"reasoning_tokens": 0}})


def failed(response_id: str, code: str, message: str = "it failed") -> list[Json]:
    return ladder(response_id, status="failed", usage=None, error={"code": code, "message": message})


def error(code: str | None, *, status: int | None = 400, message: str = "no", **fields: Any) -> Json:
    """A nested `error` frame, as the live service sends it."""
    frame: Json = {
        "type": "error",
        "error": {"type": "invalid_request_error", "code": code, "message": message} | fields,
    }
    return frame if status is None else frame | {"status": status}


def not_found(response_id: str) -> Json:
    text = f"Previous response with id '{response_id}' not found."
    return error("previous_response_not_found", message=text, param="previous_response_id")


def numbered(events: Iterable[Json]) -> list[Json]:
    return [event | {"sequence_number": n} for n, event in enumerate(events)]


def _split(text: str, pieces: int) -> list[str]:
    size = max(1, -(-len(text) // pieces))
    return [text[at : at + size] for at in range(0, len(text), size)]
