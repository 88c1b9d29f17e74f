"""The exit for what people read: streams, lines, JSON, log lines."""

from __future__ import annotations

import io
import logging

from agent_core.telemetry.log_lines import CleanFormatter
from agent_core.telemetry.screen import CleanStream, write_json
from tests.support.system.hostile_text import HOSTILE, trouble


def test_a_stream_lets_text_through_and_nothing_else() -> None:
    below = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    stream = CleanStream(below)
    for text in HOSTILE.values():
        print(text, file=stream)
    print("plain\ttext ✓", file=stream)
    written = below.buffer.getvalue()
    assert not trouble(written) and written.endswith("plain\ttext ✓\n".encode())


def test_a_log_line_with_what_others_say() -> None:
    record = logging.LogRecord("a", logging.ERROR, "", 0, "%s", (HOSTILE["title"],), None)
    assert not trouble(CleanFormatter().format(record).encode())


def test_json_keeps_its_meaning() -> None:
    out = io.BytesIO()
    write_json('{"a":"\x7f\u202e\u009b ü"}'.encode(), out)
    assert out.getvalue() == '{"a":"\\u007f\\u202e\\u009b ü"}\n'.encode()
