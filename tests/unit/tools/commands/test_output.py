from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.tools.commands.output import Capture, LastLine, clean


def captured(*pieces: bytes, limit: int = 100) -> str:
    capture = Capture(limit)
    for piece in pieces:
        capture.feed(piece)
    return capture.text()


def test_short_output_is_whole() -> None:
    assert captured(b"a\n", b"b\n") == "a\nb"
    assert captured() == ""


def test_head_and_tail_stay_and_the_middle_is_counted() -> None:
    lines = b"".join(b"line %04d\n" % number for number in range(1000))
    text = captured(lines[:3333], lines[3333:])
    assert text == "\n".join(
        [*(f"line {n:04}" for n in range(5)), "[9,910 bytes left out]", *(f"line {n:04}" for n in range(996, 1000))]
    )


def test_one_endless_line_is_cut_inside() -> None:
    text = captured(b"x" * 1000)
    assert text == "x" * 50 + "\n[900 bytes left out]\n" + "x" * 50


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(2, 60))
def test_what_is_kept_is_the_head_and_the_tail_however_it_comes(pieces: list[bytes], limit: int) -> None:
    capture = Capture(limit)
    for piece in pieces:
        capture.feed(piece)
    whole = b"".join(pieces)
    kept = whole if len(whole) <= limit else whole[: limit // 2] + whole[-(limit - limit // 2) :]
    assert capture.kept() == kept
    assert (capture.total_bytes, capture.left_out_bytes) == (len(whole), len(whole) - len(kept))


def test_terminal_sequences_are_left_out() -> None:
    assert clean(
        b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07plain\x1b(B\x1b[2K\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"
    ) == ("red plainlink")
    assert clean(b"\x9b31mred\x07\x08\x00\x7f") == "31mred".replace("31m", "\ufffd31m", 1)
    assert clean(b"open \x1b]0;never closed") == "open "
    assert clean(b"tab\tand\nline\f") == "tab\tand\nline"


def test_overwritten_lines_show_what_stands_in_the_end() -> None:
    assert clean(b"10%\r20%\r100%\ndone\r\nlast\r") == "100%\ndone\nlast"


def test_bytes_that_are_no_text_are_marked() -> None:
    assert clean("ä".encode("latin-1") + b"x") == "\ufffdx"


def test_lines_for_watchers_come_when_complete() -> None:
    line = LastLine(max_characters=10)
    line.feed(b"one\ntw")
    assert (line.take(), line.take()) == ("one", "")
    line.feed(b"o\n\n \n")
    assert line.take() == "two"
    line.feed(b"x" * 10_000 + b"\n\x1b[1mlong long line\x1b[0m\nrest")
    assert line.take() == "long long "
