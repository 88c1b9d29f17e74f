from __future__ import annotations

import pytest

from agent_core.tools.workspace.text import View, decode, main_newline, printable, split_lines

UTF8_BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("data", "text", "label"),
    [
        (b"plain\n", "plain\n", "utf-8"),
        (b"", "", "utf-8"),
        ("grün 漢字 🦊\n".encode(), "grün 漢字 🦊\n", "utf-8"),
        (UTF8_BOM + b"a\r\n", "a\r\n", "utf-8 with BOM"),
        (UTF8_BOM + UTF8_BOM + b"a", "\ufeffa", "utf-8 with BOM"),
        (b"\xff\xfe" + "ä\n".encode("utf-16-le"), "ä\n", "utf-16-le with BOM"),
        (b"\xfe\xff" + "ä\n".encode("utf-16-be"), "ä\n", "utf-16-be with BOM"),
        (b"\xff\xfe\x00\x00" + "ä\n".encode("utf-32-le"), "ä\n", "utf-32-le with BOM"),
        ("Stra\u00dfe\n".encode("latin-1"), "Straße\n", "latin-1"),
        ("Straße ".encode() + b"\xff\n", "Straße \udcff\n", "utf-8 with invalid bytes"),
        (b"\x80\x9f\n", "\x80\x9f\n", "latin-1"),
    ],
)
def test_bytes_become_text_and_the_same_bytes_again(data: bytes, text: str, label: str) -> None:
    decoded = decode(data)
    assert decoded is not None
    assert (decoded[0], decoded[1].label) == (text, label)
    assert decoded[1].encode(decoded[0]) == data


@pytest.mark.parametrize(
    "data",
    [b"\x7fELF\x00\x01", b"text\x00text", b"\xff\xfea", b"\xff\xfe\x00\x00\xff\xff\xff\xff"],
    ids=["nul", "nul inside", "odd utf-16", "utf-32 beyond unicode"],
)
def test_what_would_not_come_back_is_binary(data: bytes) -> None:
    assert decode(data) is None


def test_a_lone_surrogate_in_utf16_survives() -> None:
    data = b"\xff\xfe" + b"\x00\xd8" + "x".encode("utf-16-le")
    decoded = decode(data)
    assert decoded is not None
    assert decoded[1].encode(decoded[0]) == data


# hermes-agent#45393, llm-ls#50: form feed and U+2028 shifted line numbers.
@pytest.mark.parametrize("character", ["\f", "\v", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
def test_only_newlines_end_lines(character: str) -> None:
    text = f"one{character}still one\ntwo\r\nthree\rfour"
    assert split_lines(text) == [f"one{character}still one", "two", "three", "four"]


def test_a_final_line_end_opens_no_line() -> None:
    assert split_lines("") == []
    assert split_lines("\n") == [""]
    assert split_lines("a\n") == ["a"]
    assert split_lines("a\r\n\r\n") == ["a", ""]


def test_main_newline_is_the_most_frequent() -> None:
    assert main_newline("no line end") == "\n"
    assert main_newline("a\r\nb\r\nc\n") == "\r\n"
    assert main_newline("a\rb\rc\n") == "\r"


@pytest.mark.parametrize(
    ("raw", "old", "new", "expected"),
    [
        ("a\r\nb\r\nc\r\n", "b\n", "x\ny\n", "a\r\nx\r\ny\r\nc\r\n"),
        ("a\r\nb\nc\r\n", "a\nb\nc\n", "a\nB\nc\n", "a\r\nB\nc\r\n"),
        ("a\rb\rc", "b\n", "b\nb2\n", "a\rb\rb2\rc"),
        ("a\r\nb", "b", "b\nc", "a\r\nb\r\nc"),
        ("a\rX\nb", "X", "", "a\r\r\nb"),
        ("a\r\nb\r\n", "a\nb\n", "", ""),
        ("x", "x", "a\nb", "a\nb"),
        ("a\r\n\r\nb", "\n\n", "\n", "a\r\nb"),
    ],
)
def test_replace_keeps_the_line_ends_around(raw: str, old: str, new: str, expected: str) -> None:
    view = View(raw)
    start = view.flat.index(old)
    result = view.replace(start, start + len(old), new)
    assert result == expected
    assert View(result).flat == view.flat.replace(old, new, 1)


def test_offsets_never_point_into_a_pair() -> None:
    view = View("\r\na\r\n\r\r\nb")
    assert view.flat == "\na\n\n\nb"
    assert [view.raw_offset(index) for index in range(len(view.flat) + 1)] == [0, 2, 3, 5, 6, 8, 9]
    assert [view.line_start(index) for index in range(6)] == [0, 1, 3, 4, 5, 6]
    assert view.line_of(view.flat.index("b")) == 5


def test_printable_leaves_no_lone_surrogate() -> None:
    assert printable("a\udcffb\ud800") == "a\ufffdb\ufffd"
    assert printable("🦊") == "🦊"
