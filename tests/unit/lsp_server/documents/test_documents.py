"""Documents under random edits, against an editor that counts positions by itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lsp_server.documents import line_store
from lsp_server.documents.documents import (
    Change,
    Document,
    Documents,
    Encoding,
    Place,
    Position,
    Splice,
    bare,
    column_of,
    path_of,
    units_of,
    uri_of,
)
from lsp_server.documents.line_store import SLICE, LineStore, count_lines, split_lines
from tests.support.lsp.editor import Buffer, Editor

ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)
ALPHABET = "ab é√\u4e2d😀\U0001f468\u200d\t\n\r\x0b\x0c\x1c\x85\u2028\u2029"
texts = st.text(ALPHABET, max_size=40)


def editor_of(encoding: Encoding) -> Editor:
    editor = Editor.__new__(Editor)
    editor.encoding = encoding
    return editor


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(start=texts, edits=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12), texts), max_size=6))
@settings(max_examples=120, deadline=None)
def test_random_edits_leave_the_mirror_equal(encoding: Encoding, start: str, edits: list[tuple[int, int, str]]) -> None:
    editor, buffer = editor_of(encoding), Buffer("file:///a", start)
    document = Document("file:///a", "t", 1, start, encoding)
    for version, (at, gone, text) in enumerate(edits, 2):
        # editors keep the cursor out of a \r\n
        first = _outside_pairs(buffer.text, min(at, len(buffer.text)))
        last = _outside_pairs(buffer.text, min(first + gone, len(buffer.text)))
        span = [editor.position(buffer, offset) for offset in (first, last)]
        positions = [Position(point["line"], point["character"]) for point in span]
        buffer.text = buffer.text[:first] + text + buffer.text[last:]
        document.apply([Change(text, *positions)], version)
        assert document.text == buffer.text
        assert list(document.lines) == split_lines(buffer.text)
    assert document.version == len(edits) + 1


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=texts)
@settings(max_examples=80, deadline=None)
def test_positions_are_those_of_the_editor_and_lead_back(encoding: Encoding, text: str) -> None:
    editor, buffer = editor_of(encoding), Buffer("file:///a", text)
    document = Document("file:///a", "t", 1, text, encoding)
    offsets = [offset for offset in range(len(text) + 1) if _outside_pairs(text, offset) == offset]
    for offset, position in zip(offsets, document.positions_at(offsets), strict=True):
        assert editor.position(buffer, offset) == {"line": position.line, "character": position.character}
        assert document.offset(document.place(position)) == offset


@given(text=texts, splices=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12), texts), max_size=5))
@settings(max_examples=80, deadline=None)
def test_splices_tell_which_lines_changed(text: str, splices: list[tuple[int, int, str]]) -> None:
    document = Document("file:///a", "t", 1, text, "utf-32")
    editor, buffer = editor_of("utf-32"), Buffer("file:///a", text)
    for at, removed, new in splices:
        before = list(document.lines)
        first = _outside_pairs(buffer.text, min(at, len(buffer.text)))
        last = _outside_pairs(buffer.text, min(first + removed, len(buffer.text)))
        span = [editor.position(buffer, offset) for offset in (first, last)]
        buffer.text = buffer.text[:first] + new + buffer.text[last:]
        (splice,) = document.apply([Change(new, *(Position(p["line"], p["character"]) for p in span))], 2)
        made = document.lines.between(splice.first, splice.first + splice.count)
        assert before[: splice.first] + made + before[splice.last :] == list(document.lines)
        gone = before[splice.first : splice.last]
        assert not (gone and made) or (gone[0] != made[0] and gone[-1] != made[-1]), "no line that stayed as it was"
        assert document.apply([Change(document.text)], 3) == [Splice(len(document.lines), len(document.lines), 0)]


def _outside_pairs(text: str, offset: int) -> int:
    return offset - 1 if text[offset - 1 : offset + 1] == "\r\n" else offset


def test_lines_end_at_newlines_and_carriage_returns_only() -> None:
    text = "a\x0c\x0bb\r\nc\rd\x85\u2028\u2029\x1c\n\n"
    assert split_lines(text) == ["a\x0c\x0bb\r\n", "c\r", "d\x85\u2028\u2029\x1c\n", "\n"]
    assert [bare(line) for line in split_lines("a\r\nb\rc\nd")] == ["a", "b", "c", "d"]
    assert split_lines("") == [] and split_lines("x\x0cy\n") == ["x\x0cy\n"]


@pytest.mark.parametrize(
    ("encoding", "character", "column"),
    [("utf-16", 2, 1), ("utf-16", 3, 2), ("utf-8", 2, 1), ("utf-8", 4, 1), ("utf-8", 5, 2), ("utf-32", 2, 2)],
)
def test_a_position_inside_of_a_character_is_its_start(encoding: Encoding, character: int, column: int) -> None:
    assert column_of("a😀b", character, encoding) == column


def test_units_of_each_encoding() -> None:
    assert [units_of("aé😀", encoding) for encoding in ENCODINGS] == [7, 4, 3]
    assert units_of("\ud800", "utf-16") == 1  # a lone surrogate, as some editors send them
    assert column_of("\ud800b", 2, "utf-16") == 2


def test_what_lies_outside_is_moved_to_the_nearest_place() -> None:
    document = Document("file:///a", "t", 1, "ab\ncd", "utf-16")
    assert document.place(Position(0, 99)) == Place(0, 2)
    assert document.place(Position(99, 0)) == Place(1, 2)
    assert document.place(Position(0, -1)) == Place(0, 0)
    assert Document("file:///a", "t", 1, "ab\n", "utf-16").place(Position(9, 9)) == Place(1, 0)
    assert Document("file:///a", "t", 1, "", "utf-16").place(Position(0, 0)) == Place(0, 0)
    document.apply([Change("!", Position(1, 5), Position(0, 1))], 2)  # start and end the wrong way round
    assert document.text == "a!"


def test_a_file_is_found_by_where_it_really_lies(tmp_path: Path) -> None:
    real, link = tmp_path / "a b#é.py", tmp_path / "link.py"
    real.write_text("")
    link.symlink_to(real)
    documents = Documents("utf-16")
    document = documents.open(link.as_uri(), "python", 1, "x")
    assert documents.at(os.path.realpath(real)) is document
    assert documents.get(link.as_uri().replace("link", "l%69nk")) is document
    assert path_of(uri_of(str(real))) == str(real)
    documents.close(link.as_uri())
    assert documents.at(str(real)) is None and documents.all() == []


@pytest.mark.parametrize(
    "uri",
    [
        "untitled:1",
        "http://x/a",
        "file://host/a",
        "file:a",
        "",
        "file:///a%00b",
        "vscode-notebook-cell:/a#1",
        "file://[",
    ],
)
def test_other_uris_are_no_paths(uri: str) -> None:
    assert path_of(uri) is None


def test_a_name_that_is_no_utf8_survives(tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    assert path_of(uri_of(name)) == name


ENDS = st.sampled_from(["\n", "\r\n", "\r", "", "\x0c", "\u2028"])
PIECES = st.lists(st.tuples(st.text("ab😀", max_size=4), ENDS), max_size=30).map(
    lambda pairs: "".join(text + end for text, end in pairs)
)


@given(PIECES, st.data())
@settings(max_examples=150, deadline=None)
def test_lines_in_slices_are_the_lines_of_the_whole(text: str, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_store, "SLICE", 7)
        store, lines = LineStore(text), split_lines(text)
        for _ in range(4):
            assert list(store) == lines and store.text() == "".join(lines) and len(store) == len(lines)
            assert [store[at] for at in range(-len(lines), len(lines))] == lines * 2
            first = data.draw(st.integers(0, len(lines)))
            stop = data.draw(st.integers(first, len(lines)))
            assert store.between(first, stop) == lines[first:stop]
            assert store.start_of(first) == sum(map(len, lines[:first]))
            offsets = sorted(data.draw(st.lists(st.integers(0, len(store.text())), max_size=5)))
            assert store.places(offsets) == [place_of(lines, offset) for offset in offsets]
            new = split_lines(data.draw(PIECES))
            together = [*lines[:first], *new, *lines[stop:]]
            if split_lines("".join(together)) == together:
                store.splice(first, stop, new)
                lines = together


def place_of(lines: list[str], offset: int) -> tuple[int, int]:
    line = start = 0
    while line < len(lines) and start + len(lines[line]) <= offset and lines[line].endswith(("\n", "\r")):
        start, line = start + len(lines[line]), line + 1
    return line, offset - start


def test_a_line_longer_than_a_slice_and_a_text_of_many_slices() -> None:
    long = "x" * (5 * SLICE)
    assert list(LineStore(long)) == [long]
    text = "".join(f"line {number}\n" for number in range(SLICE))
    store = LineStore(text)
    assert len(store) == SLICE == count_lines(text) and store[12_345] == "line 12345\n"
    with pytest.raises(IndexError):
        store[SLICE]
    store.splice(10, SLICE - 10, [])
    assert list(store) == split_lines(text)[:10] + split_lines(text)[-10:]
    store.splice(0, 20, [])
    assert list(store) == [] and len(store) == 0 and store.places([0]) == [(0, 0)]
    store.splice(0, 0, ["a\n"])
    assert store.text() == "a\n"
