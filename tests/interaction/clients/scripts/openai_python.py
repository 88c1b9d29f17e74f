"""openai-python, unchanged: every way it has to the Responses API, over WebSocket and HTTP. One JSON line per fact."""

from __future__ import annotations

import json
import os
from typing import Any

import openai  # type: ignore[import-not-found]
import pydantic

client = openai.OpenAI(base_url=os.environ["BASE_URL"], api_key=os.environ["KEY"], max_retries=0)
TOOL: Any = {
    "type": "function",
    "name": "read",
    "strict": False,
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
MODEL = "scripted"


def tell(name: str, value: Any) -> None:
    print(json.dumps([name, value]), flush=True)


def over_websocket() -> None:
    with client.responses.connect() as connection:

        def call(**fields: Any) -> list[Any]:
            connection.response.create(model=MODEL, **fields)
            events: list[Any] = []
            for event in connection:
                events.append(event)
                if event.type in ("response.completed", "response.incomplete", "response.failed", "error"):
                    return events
            raise AssertionError("the connection ended")

        warm = call(input="go", tools=[TOOL], store=False, generate=False)[-1].response
        first = call(input=[], tools=[TOOL], store=False, previous_response_id=warm.id)[-1].response
        output = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "ok"}
        events = call(input=[output], tools=[TOOL], store=False, previous_response_id=first.id)
        second = events[-1].response
        tell("ws.loop", [warm.output, first.output[0].type, second.output[0].type, second.output_text[:4]])
        tell("ws.types", sorted({type(event).__name__ for event in events}))
        tell("ws.text", "".join(event.delta for event in events if event.type == "response.output_text.delta"))
        error = call(input="x", store=False, previous_response_id=warm.id)[-1]
        tell("ws.error", [error.type, error.status, error.error.code, error.error.param])
        side = call(input="x", store=False, stream_id="side")
        tell("ws.lane", sorted({event.stream_id for event in side}))
        connection.response.steer(previous_response_id="resp_none", input="faster")
        failed = connection.recv()
        tell("ws.steer", [failed.type, failed.error.code])


def over_http() -> None:
    first = client.responses.create(model=MODEL, input="go", tools=[TOOL])
    output: Any = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "ok"}
    second = client.responses.create(model=MODEL, input=[output], tools=[TOOL], previous_response_id=first.id)
    grown = second.usage.input_tokens > first.usage.input_tokens
    tell("http.loop", [first.output[0].type, second.output[0].type, grown])
    with client.responses.stream(model=MODEL, input="go") as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    tell("http.stream", [kinds[0], kinds[-1], final.output_text == second.output_text])
    tell("http.retrieve", client.responses.retrieve(second.id).to_dict() == second.to_dict())
    items = [item.type for item in client.responses.input_items.list(second.id, limit=2, order="asc")]
    tell("http.input_items", items)
    tell("http.input_tokens", client.responses.input_tokens.count(model=MODEL, input="go").input_tokens > 0)
    compacted = client.responses.compact(model=MODEL, previous_response_id=second.id)
    tell("http.compact", [item.type for item in compacted.output])
    again = client.responses.create(model=MODEL, input=[*compacted.output, {"role": "user", "content": "on"}])
    tell("http.after_compaction", again.status)
    client.responses.delete(second.id)
    asked: dict[str, Any] = {
        "deleted": lambda: client.responses.retrieve(second.id),
        "invalid": lambda: client.responses.create(model=MODEL, input="x", temperature=3),
        "key": lambda: openai.OpenAI(base_url=client.base_url, api_key="wrong", max_retries=0).models.list(),
        "cancel": lambda: client.responses.cancel(first.id),
    }
    for name, ask in asked.items():
        try:
            ask()
        except openai.APIStatusError as error:
            tell(f"http.{name}", [type(error).__name__, error.code, error.param])
    tell("http.models", sorted(model.id for model in client.models.list()))


class Sum(pydantic.BaseModel):
    total: int
    unit: str


def parsed() -> None:
    answer = client.responses.parse(model=MODEL, input="go", text_format=Sum)
    tell("http.parsed", answer.output_parsed.model_dump())


over_websocket()
over_http()
parsed()
