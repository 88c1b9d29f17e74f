"""The reader of protobuf against the library that collectors use, and against bytes that are anything."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dashboard.hub.ingest.otlp import model
from dashboard.hub.ingest.otlp.protobuf import BadProtobuf, read_protobuf
from dashboard.hub.ingest.otlp.records import JSON, PROTOBUF, read_body
from tests.support.hub.otlp import GOLDEN, export_body, protobuf, signal_of

BODIES = sorted(path.name for path in GOLDEN.glob("*.json"))
KINDS = (model.Traces, model.Logs, model.Metrics)


@pytest.mark.parametrize("name", BODIES)
def test_both_forms_of_a_recorded_export_say_the_same(name: str) -> None:
    signal = signal_of(name)
    body = export_body(name)
    from_json = read_body((GOLDEN / name).read_bytes(), JSON, "", signal)
    from_protobuf = read_body(protobuf(body, signal), f"{PROTOBUF}; charset=x", "", signal)
    assert [_plain(one) for one in from_protobuf.records] == [_plain(one) for one in from_json.records]
    assert from_json.records or signal == "metrics"


def _plain(record: object) -> str:
    """Numbers of 64 bits are texts in one form and numbers in the other."""
    return repr(record).replace("'", "")


@given(st.binary(max_size=400))
@example(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
@example(b"\x0a" * 100)
@example(b"\x0b")
def test_bytes_that_are_anything_are_read_or_refused(data: bytes) -> None:
    for kind in KINDS:
        try:
            read_protobuf(data, kind)
        except BadProtobuf:
            continue


@given(st.data())
def test_a_cut_or_changed_body_is_read_or_refused(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(BODIES))
    body = bytearray(protobuf(export_body(name), signal_of(name)))
    cut = data.draw(st.integers(0, len(body)))
    for at in data.draw(st.lists(st.integers(0, max(0, cut - 1)), max_size=4)) if cut else []:
        body[at] ^= 1 << data.draw(st.integers(0, 7))
    kinds: dict[str, type[model.Traces | model.Logs]] = {"logs": model.Logs, "traces": model.Traces}
    try:
        read_protobuf(bytes(body[:cut]), kinds.get(signal_of(name), model.Traces))
    except BadProtobuf:
        return


def test_nesting_is_bounded() -> None:
    inner = b""
    for _ in range(60):
        inner = b"\x0a" + _length(inner) + inner  # AnyValue in ArrayValue in AnyValue …
        inner = b"\x2a" + _length(inner) + inner
    value = b"\x12" + _length(inner) + inner
    attribute = b"\x0a" + _length(value) + value
    resource = b"\x0a" + _length(attribute) + attribute
    with pytest.raises(BadProtobuf, match="deep"):
        read_protobuf(b"\x0a" + _length(resource) + resource, model.Traces)


def _length(data: bytes) -> bytes:
    size, out = len(data), bytearray()
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    return bytes([*out, size])
