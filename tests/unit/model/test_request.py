"""The bytes of a create."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.model.port import CallRequest, Items
from agent_core.model.request import Builder, http_body, socket_frame
from agent_core.protocol.chain import Plan
from agent_core.wire.requests import ResponseCreate, read_client_frame, read_create_body

ITEM = b'{"type":"message","role":"user","content":"hi"}'


def request(**fields: Any) -> CallRequest:
    given: dict[str, Any] = {"model": "m", "instructions": 'say "hi" \u00e9', "tools": b"[]", "items": Items([ITEM])}
    return CallRequest(**given | fields)


def test_a_frame_is_a_create_that_the_strict_reader_takes() -> None:
    fields = Builder().fields(request(tools=b'[{"type":"function","name":"x"}]', options={"tool_choice": "auto"}))
    frame = socket_frame(fields, 'resp_"1', [ITEM, ITEM], generate=False)
    assert isinstance(read_client_frame(frame), ResponseCreate)
    assert json.loads(frame) == {
        "type": "response.create",
        "model": "m",
        "instructions": 'say "hi" \u00e9',
        "tools": [{"type": "function", "name": "x"}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "tool_choice": "auto",
        "previous_response_id": 'resp_"1',
        "generate": False,
        "input": [json.loads(ITEM)] * 2,
    }


def test_a_body_streams_and_has_no_type_and_no_previous_response() -> None:
    body = http_body(Builder().fields(request()), [ITEM])
    assert read_create_body(body).stream is True
    assert set(json.loads(body)) == {"stream", "model", "instructions", "tools", "store", "include", "input"}


def test_options_override_the_defaults() -> None:
    body = json.loads(http_body(Builder().fields(request(options={"store": True, "include": []})), []))
    assert (body["store"], body["include"], body["input"]) == (True, [], [])


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"instructions": "other"},
        {"tools": b'[{"type":"web_search"}]'},
        {"options": {"tool_choice": "none"}},
        {"options": {"parallel_tool_calls": False}},
        {"options": {"reasoning": {"effort": "low"}}},
        {"options": {"store": True}},
        {"options": {"include": []}},
        {"options": {"service_tier": "flex"}},
        {"options": {"prompt_cache_key": "k"}},
        {"options": {"text": {"verbosity": "low"}}},
    ],
)
def test_each_field_that_a_service_binds_to_the_chain_changes_the_digest(change: dict[str, Any]) -> None:
    builder = Builder()
    before = builder.fields(request())
    assert builder.fields(request(**change)).digest != before.digest
    assert builder.fields(request()).digest == before.digest


@pytest.mark.parametrize("ignored", ["client_metadata", "stream_options"])
def test_what_does_not_bind_is_sent_but_not_compared(ignored: str) -> None:
    """Wei-Shaw/sub2api#5307: a warm-up and the turn after it were told apart by exactly these."""
    builder = Builder()
    before = builder.fields(request())
    after = builder.fields(request(options={ignored: {"a": "b"}}))
    assert after.digest == before.digest
    assert json.loads(socket_frame(after, None, []))[ignored] == {"a": "b"}
    assert socket_frame(before, None, [], generate=False) != socket_frame(before, None, [])


def test_unchanged_fields_are_encoded_once() -> None:
    builder = Builder()
    assert builder.fields(request()) is builder.fields(msgspec.structs.replace(request(), call="call_2", turn="t"))


@given(st.lists(st.binary(min_size=2, max_size=9), max_size=6), st.data())
def test_the_size_with_the_whole_input_is_that_of_the_frame_with_the_whole_input(
    items: list[bytes], data: st.DataObject
) -> None:
    builder, log = Builder(), Items(items)
    fields = builder.fields(request())
    log.start = data.draw(st.integers(0, len(items)))
    first_new = data.draw(st.integers(log.start, len(items)))
    previous = data.draw(st.sampled_from(["resp_1", 'a"b'])) if first_new > log.start else None
    plan = Plan(previous, first_new if previous else log.start, "reused")
    frame = socket_frame(fields, previous, log.raw(plan.first_new))
    whole = len(socket_frame(fields, None, log.raw(log.start)))
    assert builder.full_size(len(frame), plan, log, len(items) - plan.first_new) == whole


def test_items_are_measured_once_however_the_calls_go() -> None:
    class Watched(Items):
        def raw(self, start: int) -> list[bytes]:
            asked.append(start)
            return super().raw(start)

    asked: list[int] = []
    builder, log = Builder(), Watched([b"12"] * 10)
    assert builder._held_bytes(log, 4) == 8
    assert builder._held_bytes(log, 0) == 0
    assert builder._held_bytes(log, 9) == 18
    assert builder._held_bytes(log, 9) == 18
    assert asked == [0, 4, 9]
    log.start = 5
    assert builder._held_bytes(log, 9) == 8
    assert builder._held_bytes(log, 5) == 0
