from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.tools.toolbox import Bench


def written(file: Path) -> tuple[int, ...]:
    """What changes when a file is written or replaced; reading it changes the time of the last access alone."""
    found = file.stat()
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_an_edit_shows_its_hunk_and_diff(bench: Bench) -> None:
    bench.write("a.py", "".join(f"line {number}\n" for number in range(1, 21)))
    result = await bench.run("edit", path="a.py", old="line 10\n", new="line ten\nmore\n")
    assert result.output == (
        "edited a.py (+2 -1)\n@@ -7,7 +7,8 @@\n line 7\n line 8\n line 9\n-line 10\n+line ten\n+more\n"
        " line 11\n line 12\n line 13"
    )
    assert result.diff == "--- a/a.py\n+++ b/a.py\n" + result.output.split("\n", 1)[1] + "\n"
    assert (result.files_changed, result.summary) == (("a.py",), "a.py (+2 -1)")


async def test_a_new_file_is_made_with_an_empty_old(bench: Bench) -> None:
    result = await bench.run("edit", path="new/a.py", old="", new="x = 1\n")
    assert result.output == "created new/a.py (+1 -0)\n@@ -0,0 +1 @@\n+x = 1"
    assert result.diff.startswith("--- /dev/null\n+++ b/new/a.py\n")
    assert "exists and is not empty" in await bench.refused("edit", path="new/a.py", old="", new="y")
    bench.write("empty.py", "")
    assert (await bench.ok("edit", path="empty.py", old="", new="y")).startswith("edited empty.py (+1 -0)")
    assert bench.bytes("empty.py") == b"y"


@pytest.mark.parametrize(
    ("content", "old", "new", "message"),
    [
        ("a\nb\na\nb\na\n", "a\n", "c\n", "ambiguous: matches 3 times at lines 1, 3, 5 of f.txt; add lines"),
        ("aaa", "aa", "b", "ambiguous: matches 2 times at lines 1, 1 of f.txt"),
        ("a\n", "a", "a", "no_change: old and new are the same text"),
        ("a\r\n", "a\r\n", "a\n", "no_change: old and new are the same text"),
        ("def f():\n\treturn 1\n", "def f():\n    return 1\n", "x", "lines 1-2 differ from old only in white space"),
        ("def f():\n\treturn 1\n", "def f():\n    return 1\n", "x", "one side indents with tabs"),
        ("if x :\n", "if x:", "y", "lines 1 differ from old only in white space".replace("lines 1", "lines 1")),
        ("Value = 1\n", "value = 1\n", "x", "lines 1 differ from old only in upper and lower case"),
        ("total = total + price\n", "total += price", "total = total + price", "new already stands at line 1"),
        ("a\nkeep = compute(1)\nz\n", "keep = compute(2)\n", "x", "the closest line is 2: keep = compute(1)"),
        (
            "def f(a):\n    b = 1\n    return a\n",
            "def f(a):\n    b = 2\n    return a\n",
            "x",
            "line 2 differs. It is: '    b = 1', old has: '    b = 2'",
        ),
        ("one\n", "one\ntwo\n", "x", "the file ends at line 1, old goes on with: two"),
        ("x = 1\n", "1\tx = 1\n", "y", "old has the line numbers of the read output in it"),
        ("x = 1\n", "\n\n\n", "y", "old is only white space that the file does not have"),
        ("x = 1\n", "completely different", "y", "no line is like it"),
        ("", "x", "y", "no line is like it"),
    ],
)
async def test_a_refusal_says_why_and_changes_nothing(
    bench: Bench, content: str, old: str, new: str, message: str
) -> None:
    file = bench.write("f.txt", content)
    before = written(file)
    assert message in await bench.refused("edit", path="f.txt", old=old, new=new)
    assert bench.bytes("f.txt") == content.encode()
    assert written(file) == before


# copilot-cli#3732, claude-code#13363, gemini-cli#3841, intellij-feedback#1042: lost bytes of other encodings.
@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"\xef\xbb\xbfa\r\nb\r\n", "b", "ß\nc", "\ufeffa\r\nß\r\nc\r\n".encode()),
        ("a\nStraße\n".encode("latin-1"), "Straße", "Gasse ü", "a\nGasse ü\n".encode("latin-1")),
        (b"\xff\xfe" + "a\r\nb".encode("utf-16-le"), "b", "漢\n🦊", b"\xff\xfe" + "a\r\n漢\r\n🦊".encode("utf-16-le")),
        ("ok é ".encode() + b"\xe9\nx\n", "x\n", "y\nz\n", "ok é ".encode() + b"\xe9\ny\nz\n"),
        (b"a\rb\rc", "b\n", "B\nB2\n", b"a\rB\rB2\rc"),
        (b"a\fb\xe2\x80\xa8c\nd", "c\nd", "c\nD", b"a\fb\xe2\x80\xa8c\nD"),
        (b"no end", "end", "end\nmore", b"no end\nmore"),
        (b"mixed\r\nlines\nhere\r\n", "mixed\nlines\nhere\n", "mixed\nlines!\nhere\n", b"mixed\r\nlines!\nhere\r\n"),
    ],
    ids=["bom+crlf", "latin-1", "utf-16", "invalid byte", "cr", "ff+ls", "no final newline", "mixed"],
)
async def test_every_other_byte_stays(bench: Bench, before: bytes, old: str, new: str, after: bytes) -> None:
    bench.write("f.txt", before)
    await bench.ok("edit", path="f.txt", old=old, new=new)
    assert bench.bytes("f.txt") == after


async def test_a_character_that_the_encoding_lacks_is_named(bench: Bench) -> None:
    bench.write("f.txt", "é\n".encode("latin-1"))
    refusal = await bench.refused("edit", path="f.txt", old="é", new="é – 漢")
    assert refusal == "not_encodable: f.txt is written in latin-1, which has no U+2013; nothing was written"
    assert bench.bytes("f.txt") == b"\xe9\n"


async def test_binary_files_are_refused(bench: Bench) -> None:
    bench.write("f.bin", b"\x00\x01")
    assert await bench.refused("edit", path="f.bin", old="a", new="b") == "binary: f.bin is a binary file (2 bytes)"


# cline#12636, vscode-copilot-release#8304: text that the user typed meanwhile was lost.
async def test_what_the_user_changed_since_is_shown_first(bench: Bench) -> None:
    bench.write("f.txt", "one\ntwo\nthree\n")
    await bench.ok("read", path="f.txt")
    bench.write("f.txt", "one\nuser's two\nthree\n")
    refusal = await bench.refused("edit", path="f.txt", old="three\n", new="3\n")
    assert refusal.startswith(
        "changed: f.txt changed since you last saw it; nothing was written. What changed meanwhile:"
    )
    assert "-two\n+user's two\n" in refusal
    assert bench.bytes("f.txt") == b"one\nuser's two\nthree\n"
    await bench.ok("edit", path="f.txt", old="three\n", new="3\n")
    assert bench.bytes("f.txt") == b"one\nuser's two\n3\n"


async def test_what_a_command_rewrote_is_seen_by_the_next_read_and_edit(bench: Bench) -> None:
    bench.write("f.txt", "one\n")
    await bench.ok("read", path="f.txt")
    await bench.ok("shell", command="printf 'formatted\\n' > f.txt")
    assert "+formatted" in await bench.refused("edit", path="f.txt", old="one", new="two")
    assert "1\tformatted" in await bench.ok("read", path="f.txt")
    await bench.ok("edit", path="f.txt", old="formatted", new="two")


async def test_own_edits_are_no_surprise(bench: Bench) -> None:
    bench.write("f.txt", "a\n")
    await bench.ok("read", path="f.txt")
    for old, new in (("a", "b"), ("b", "c"), ("c", "a")):
        await bench.ok("edit", path="f.txt", old=old, new=new)
    assert bench.bytes("f.txt") == b"a\n"


async def test_an_undo_may_bring_back_the_very_bytes(bench: Bench) -> None:
    original = b"a\r\nb\nc\rlast"
    bench.write("f.txt", original)
    await bench.ok("edit", path="f.txt", old="b\n", new="B\nB\n")
    await bench.ok("edit", path="f.txt", old="B\nB\n", new="b\n")
    assert bench.bytes("f.txt") == original


# roo-code#4956: text edits broke the JSON of notebooks.
async def test_a_notebook_stays_a_notebook(bench: Bench) -> None:
    notebook = json.dumps({"cells": [{"cell_type": "code", "source": ["x = 1\n"]}], "nbformat": 4}, indent=1)
    bench.write("n.ipynb", notebook)
    await bench.ok("edit", path="n.ipynb", old="x = 1", new="x = 2")
    for old, new in (('"x = 2', "x = 2"), ('"cells"', '"sells"')):
        assert "would no longer be a notebook" in await bench.refused("edit", path="n.ipynb", old=old, new=new)
    assert json.loads(bench.bytes("n.ipynb"))["cells"][0]["source"] == ["x = 2\n"]


async def test_long_hunks_are_cut_but_the_diff_is_whole(bench: Bench) -> None:
    bench.write("f.txt", "x\n")
    result = await bench.run("edit", path="f.txt", old="x\n", new="long line of text\n" * 2000)
    assert result.output.startswith("edited f.txt (+2000 -1)")
    assert result.output.endswith("[hunk cut here]")
    assert len(result.output) < 17_000
    assert result.diff.count("+long line") == 2000


async def test_an_encoding_is_not_guessed_anew_after_an_edit(bench: Bench) -> None:
    """Without its only umlaut the rest of this file looks like Latin-1."""
    bench.write("f.txt", "ü\n".encode() + b"\xff\xc3\n")
    await bench.ok("edit", path="f.txt", old="ü", new="u")
    await bench.ok("edit", path="f.txt", old="u", new="ü")
    assert bench.bytes("f.txt") == "ü\n".encode() + b"\xff\xc3\n"
