"""Messages out of bytes: whatever arrives, and however it is cut, the reader gives messages or says what is wrong."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lsp_server.acp.lines import PARSE_ERROR, Fault, LineReader, read_line

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "other"])


@given(st.lists(st.binary(max_size=40)), st.integers(1, 7))
def test_any_bytes_in_any_pieces(lines: list[bytes], size: int) -> None:
    data = b"\n".join(lines)
    whole, cut = LineReader(), LineReader()
    expected = whole.feed(data) + whole.end()
    found: list[Any] = []
    for at in range(0, len(data), size):
        found += cut.feed(data[at : at + size])
    assert found + cut.end() == expected


@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_what_comes_out_as_a_message_has_its_shape(message: dict[str, Any]) -> None:
    found = read_line(json.dumps(message).encode())
    if isinstance(found, Fault):
        assert isinstance(found.id, (int, str, type(None)))
        return
    assert isinstance(found.get("id"), (int, str, type(None))) and not isinstance(found.get("id"), bool)
    if "method" in found:
        assert isinstance(found["method"], str)
    elif "result" not in found:
        assert isinstance(found["error"]["code"], int) and isinstance(found["error"]["message"], str)


def test_a_line_that_is_too_long_is_refused_once_and_skipped() -> None:
    reader = LineReader(max_line_bytes=20)
    found = reader.feed(b"x" * 15) + reader.feed(b"x" * 15) + reader.feed(b'x\n{"method":"a"}\n')
    assert [each.code if isinstance(each, Fault) else each for each in found] == [PARSE_ERROR, {"method": "a"}]
