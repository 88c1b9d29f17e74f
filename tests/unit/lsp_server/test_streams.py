"""Frames, the outbox and the event stream."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.turns import events as told
from lsp_server.protocol import events as ev
from lsp_server.rpc.outbox import Outbox
from lsp_server.stream import INTERVAL_S, EventStream, merge
from lsp_server.transport.framing import MAX_BODY_BYTES, FrameReader, Malformed, frame
from tests.support.system.waiting import eventually

bodies = st.lists(st.binary(min_size=1, max_size=60), max_size=6)


@given(messages=bodies, cuts=st.lists(st.integers(1, 40), max_size=30))
@settings(max_examples=100, deadline=None)
def test_messages_survive_any_cut(messages: list[bytes], cuts: list[int]) -> None:
    data, reader, found = b"".join(map(frame, messages)), FrameReader(), []
    for cut in cuts:
        found += reader.feed(data[:cut])
        data = data[cut:]
    assert found + reader.feed(data) == messages


@given(noise=st.binary(max_size=200), cut=st.integers(1, 50))
@settings(max_examples=150, deadline=None)
def test_noise_ends_nothing(noise: bytes, cut: int) -> None:
    """After anything at all, whole frames are read again, at the latest the second."""
    reader = FrameReader()
    for at in range(0, len(noise), cut):
        reader.feed(noise[at : at + cut])
    found = reader.feed(frame(b"{1}") + frame(b"{2}") + b"\r\n\r\n" + frame(b"{3}"))
    assert b"{3}" in found or b"{2}" in found or b"content-length" in noise.lower()


def test_a_message_above_the_limit_is_skipped() -> None:
    reader = FrameReader()
    size = MAX_BODY_BYTES + 1
    assert reader.feed(b"Content-Length: %d\r\n\r\n" % size) == [Malformed.TOO_LARGE]
    chunk = b"x" * (1 << 20)
    for _ in range(size // len(chunk)):
        assert reader.feed(chunk) == []
    assert reader.feed(b"x" * (size % len(chunk)) + frame(b"{}")) == [b"{}"]


def test_a_header_without_end_is_bounded() -> None:
    reader = FrameReader()
    for _ in range(100):
        reader.feed(b"x" * 1_000)
    assert len(reader._buffer) < 20_000
    assert reader.feed(b"\r\n\r\n" + frame(b"{}"))[-1] == b"{}"


@pytest.mark.parametrize("first", [b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /a:b HTTP/1.0\r\n\r\n"])
def test_another_protocol_is_noticed(first: bytes) -> None:
    reader = FrameReader()
    reader.feed(first)
    assert reader.alien
    plain = FrameReader()
    plain.feed(frame(b"GET / HTTP/1.1"))
    assert not plain.alien


async def test_droppable_messages_give_way_and_others_never() -> None:
    box = Outbox(soft_bytes=10, hard_bytes=1_000)
    assert box.put(b"12345") and box.put(b"678901")
    assert not box.put(b"event", droppable=True) and box.dropped == 1
    assert box.put(b"answer")
    batch = await box.batch()
    assert batch == [b"12345", b"678901", b"answer"]
    assert box.backlogged  # the writer is still busy with them
    box.sent(batch)
    assert box.put(b"event", droppable=True)


async def test_a_client_that_never_reads_is_given_up() -> None:
    box = Outbox(hard_bytes=100)
    for _ in range(30):
        box.put(b"x" * 10)
    assert box.overflown and box.closed and not box.put(b"more")
    assert await box.batch() == []


async def test_what_waits_is_sent_after_closing() -> None:
    box = Outbox()
    box.put(b"last words")
    box.close()
    assert await box.batch() == [b"last words"]
    assert await box.batch() == []


def delta(text: str, turn: str = "t") -> told.TextDelta:
    return told.TextDelta(session_id="s", turn_id=turn, text=text)


def test_pieces_of_text_join_and_states_replace_each_other() -> None:
    waiting: list[ev.AnyEvent] = []
    first = told.Plan(session_id="s", turn_id="t", steps=())
    second = told.Plan(session_id="s", turn_id="t", steps=(told.Step(text="a", status="todo"),))
    other = told.Plan(session_id="s", turn_id="u", steps=())
    for event in (delta("a"), delta("b"), first, delta("c"), other, second, delta("d", "u"), delta("e")):
        merge(waiting, event)
    assert waiting == [delta("ab"), delta("c"), other, second, delta("d", "u"), delta("e")]


class Sink:
    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.clear = True
        self.stream = EventStream(self._take, lambda: self.clear)

    def _take(self, body: bytes) -> bool:
        self.messages.append(json.loads(body))
        return True

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for message in self.messages for event in message["params"]["events"]]


async def test_events_are_numbered_and_spaced() -> None:
    sink = Sink()
    begun_s = asyncio.get_running_loop().time()
    for number in range(400):
        sink.stream.put(delta(f"{number} "))
        if number % 4 == 0:
            await asyncio.sleep(0.001)
    sink.stream.flush()
    took_s = asyncio.get_running_loop().time() - begun_s
    assert len(sink.messages) <= took_s / INTERVAL_S + 2
    assert [message["params"]["seq"] for message in sink.messages] == list(range(1, len(sink.messages) + 1))
    assert "".join(event["text"] for event in sink.events) == "".join(f"{number} " for number in range(400))
    assert sink.messages[0] == {
        "jsonrpc": "2.0", "method": "$/loopline/event",
        "params": {"seq": 1, "events": [{"type": "text.delta", "sessionId": "s", "turnId": "t", "text": "0 "}]},
    }  # fmt: skip


async def test_a_client_that_does_not_keep_up_gets_less_and_can_tell() -> None:
    sink = Sink()
    sink.stream.put(delta("first"))
    await eventually(lambda: sink.messages)
    sink.clear = False
    for number in range(5_000):
        sink.stream.put(told.Notice(severity="info", text=str(number)))
        if number % 500 == 0:
            await asyncio.sleep(0)
    assert len(sink.messages) == 1
    sink.clear = True
    await eventually(lambda: len(sink.messages) > 1 and sink.events[-1]["text"] == "4999")
    numbers = [message["params"]["seq"] for message in sink.messages]
    assert numbers[0] == 1 and numbers[1] > 2  # a gap
    assert sink.events[-1]["text"] == "4999" and len(sink.events) <= 2_001


async def test_a_client_that_wants_no_events_gets_none() -> None:
    sink = Sink()
    sink.stream.enabled = False
    sink.stream.put(delta("x"))
    await asyncio.sleep(INTERVAL_S)
    assert sink.messages == []
