from __future__ import annotations

import pytest

from agent_core.errors import WireError
from agent_core.wire.codec import encode
from agent_core.wire.events import OutputTextDelta, read_event
from agent_core.wire.sse import DONE, SseDecoder, SseMessage, encode_event

STREAM = (
    b'\xef\xbb\xbf: a comment\nevent: a\ndata: {"x":1}\n\n'
    b"data:no space\r\n\r\n"
    b"id: 4\nretry: 10\nevent: b\r\ndata: one\r\ndata:\r\ndata:  three\r\n\r\n"
    b"event: c\rdata: cr\r\r"
    b"event: empty\n\n"
    b"data\n\n"
    b"data: last\n\ndata: [DONE]\n\nevent: never\ndata: finished\n"
)
MESSAGES = [
    SseMessage("a", b'{"x":1}'),
    SseMessage("", b"no space"),
    SseMessage("b", b"one\n\n three"),
    SseMessage("c", b"cr"),
    SseMessage("", b""),
    SseMessage("", b"last"),
]


def test_a_whole_stream() -> None:
    decoder = SseDecoder()
    assert decoder.feed(STREAM) == MESSAGES
    assert decoder.done


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 16])
def test_pieces_of_any_size(size: int) -> None:
    decoder = SseDecoder()
    pieces = [STREAM[start : start + size] for start in range(0, len(STREAM), size)]
    assert [message for piece in pieces for message in decoder.feed(piece)] == MESSAGES
    assert decoder.done


def test_every_cut_in_two() -> None:
    for cut in range(len(STREAM) + 1):
        decoder = SseDecoder()
        assert decoder.feed(STREAM[:cut]) + decoder.feed(b"") + decoder.feed(STREAM[cut:]) == MESSAGES, cut


def test_messages_come_as_soon_as_they_are_whole() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"event: a\ndata: 1\n") == []
    assert decoder.feed(b"\n") == [SseMessage("a", b"1")]
    assert decoder.feed(b"data: 2\r\n\r") == [SseMessage("", b"2")]
    assert decoder.feed(b"\ndata: 3\n\n") == [SseMessage("", b"3")]
    assert not decoder.done


def test_an_event_is_one_chunk_that_reads_back() -> None:
    event = OutputTextDelta(item_id="m", output_index=0, content_index=0, delta="a\nb\u2028c", sequence_number=1)
    chunk = encode_event("response.output_text.delta", encode(event))
    assert chunk.count(b"\n") == 3
    assert chunk.endswith(b"\n\n")
    (message,) = SseDecoder().feed(chunk)
    assert message.event == "response.output_text.delta"
    assert read_event(message.data) == event


@pytest.mark.parametrize("data", [b"a\nb", b"a\r\nb", b"a\rb", b"\n", b""])
def test_line_ends_in_data_survive_as_newlines(data: bytes) -> None:
    (message,) = SseDecoder().feed(encode_event("x", data))
    assert message.data == data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def test_a_byte_order_mark_belongs_to_no_line() -> None:
    mark = b"\xef\xbb\xbf"
    assert SseDecoder().feed(mark + b"data: 1\n\n" + mark + b"data: 2\n\n") == [SseMessage("", b"1")]


def test_done_is_no_message() -> None:
    decoder = SseDecoder()
    assert decoder.feed(DONE) == []
    assert decoder.done


def test_an_endless_message_is_refused() -> None:
    for pieces in ([b"data: " + b"x" * 200], [b"data: xxxxx\n"] * 40, [b"x" * 30] * 5):
        decoder = SseDecoder(max_event_bytes=100)
        with pytest.raises(WireError) as caught:
            for piece in pieces:
                decoder.feed(piece)
        assert caught.value.code == "message_too_large"
    decoder = SseDecoder(max_event_bytes=100)
    assert len(decoder.feed(b"data: xxxxxxxxxx\n\n" * 50)) == 50
