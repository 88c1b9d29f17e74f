"""Server-sent events: the same messages however the network cuts the stream, and no other exception than WireError."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.errors import WireError
from agent_core.wire.sse import SseDecoder, SseMessage, encode_event

few = settings(max_examples=80, deadline=None)

_names = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=8)
_data = st.text(st.characters(exclude_categories=["Cs"]), max_size=30).map(str.encode)
_streams = st.lists(
    st.sampled_from(
        [b"event:a", b"data: x", b"data:", b"data", b":c", b"id: 1", b"", b"\n", b"\r", b"\r\n", b" ", b"data: [DONE]"]
    )
    | st.binary(max_size=4),
    max_size=30,
).map(b"".join)


def _cut(data: st.DataObject, stream: bytes) -> list[bytes]:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    return [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


@few
@given(st.lists(st.tuples(_names, _data), max_size=5), st.data())
def test_what_is_encoded_is_decoded_however_it_is_cut(events: list[tuple[str, bytes]], data: st.DataObject) -> None:
    stream = b"".join(encode_event(name, body) for name, body in events)
    decoder = SseDecoder()
    found = [message for piece in _cut(data, stream) for message in decoder.feed(piece)]
    wanted = [SseMessage(name, body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")) for name, body in events]
    assert found == [message for message in wanted if message.data != b"[DONE]"]


@few
@given(_streams, st.data())
def test_cutting_never_changes_the_messages(stream: bytes, data: st.DataObject) -> None:
    whole, cut = SseDecoder(), SseDecoder()
    wanted = whole.feed(stream)
    assert [message for piece in _cut(data, stream) for message in cut.feed(piece)] == wanted
    assert cut.done == whole.done


@few
@given(_streams, st.data())
def test_line_ends_are_alike(stream: bytes, data: st.DataObject) -> None:
    unified = stream.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    end = data.draw(st.sampled_from([b"\r\n", b"\r", b"\n"]))
    assert SseDecoder().feed(unified.replace(b"\n", end)) == SseDecoder().feed(unified)


@few
@given(st.lists(st.binary(max_size=30), max_size=20))
def test_memory_stays_within_the_bound(pieces: list[bytes]) -> None:
    decoder = SseDecoder(max_event_bytes=64)
    try:
        for piece in pieces:
            for message in decoder.feed(piece):
                assert len(message.data) <= 64 + 30
    except WireError as exc:
        assert exc.code == "message_too_large"
        assert sum(map(len, pieces)) > 64
    else:
        return
    with pytest.raises(WireError):
        SseDecoder(max_event_bytes=64).feed(b"data: " + b"x" * 65)
