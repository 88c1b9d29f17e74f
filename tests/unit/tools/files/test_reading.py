from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tools.toolbox import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_read_numbers_its_lines(bench: Bench) -> None:
    bench.write("a.py", "one\n\tzwei\n\ndrei\n")
    result = await bench.run("read", path="a.py")
    assert result.output == "a.py lines 1-4 of 4\n1\tone\n2\t\tzwei\n3\t\n4\tdrei"
    assert (result.summary, result.data["lines"]) == ("a.py", 4)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ({"start": 2, "end": 3}, "a.py lines 2-3 of 4\n2\tb\n3\tc"),
        ({"start": 3}, "a.py lines 3-4 of 4\n3\tc\n4\td"),
        ({"end": 1}, "a.py lines 1-1 of 4\n1\ta"),
        ({"start": 4, "end": 99}, "a.py lines 4-4 of 4\n4\td"),
        ({"start": "2", "end": 2.0}, "a.py lines 2-2 of 4\n2\tb"),
        ({"start": None}, "a.py lines 1-4 of 4\n1\ta\n2\tb\n3\tc\n4\td"),
    ],
)
async def test_read_takes_a_range(bench: Bench, arguments: dict[str, object], output: str) -> None:
    bench.write("a.py", "a\nb\nc\nd\n")
    assert await bench.ok("read", path="a.py", **arguments) == output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "a.py", "start": 5}, "bad_range: a.py has only 4 lines"),
        ({"path": "a.py", "start": 3, "end": 2}, "bad_range: the range 3-2 is empty"),
        ({"path": "a.py", "start": 0}, "'start' is 0; it goes from 1 to any number"),
        ({"path": "a.py", "start": 1.5}, "'start' must be an integer, got a number"),
        ({"path": "nope"}, "not_found: nope: no such file"),
        ({"path": "a.py/b"}, "not_found: a.py/b: no such file"),
        ({"path": "dir"}, "dir is a folder; use list"),
        ({"path": "bin"}, "binary: bin is a binary file (3 bytes)"),
        ({}, "bad_arguments: read: 'path' is missing; it takes {path, start?, end?}"),
    ],
)
async def test_read_says_what_is_wrong(bench: Bench, arguments: dict[str, object], message: str) -> None:
    bench.write("a.py", "a\nb\nc\nd\n")
    bench.write("bin", b"\0\1\2")
    (bench.root / "dir").mkdir()
    assert message in await bench.refused("read", **arguments)


@pytest.mark.parametrize(
    ("data", "output"),
    [
        (b"", "f lines 0-0 of 0"),
        (b"\n", "f lines 1-1 of 1\n1\t"),
        (b"x", "f lines 1-1 of 1\n1\tx\n[no newline at the end of the file]"),
        (b"a\r\nb\r\n", "f lines 1-2 of 2\n1\ta\n2\tb"),
        (b"\xe9\n", "f lines 1-1 of 1\n1\té\n[latin-1; edits keep it]"),
        ("é ".encode() + b"\xe9\n", "f lines 1-1 of 1\n1\té \ufffd\n[utf-8 with invalid bytes; edits keep it]"),
        (b"\xef\xbb\xbfx\n", "f lines 1-1 of 1\n1\tx\n[utf-8 with BOM; edits keep it]"),
        (b"a\x0cb\xe2\x80\xa9c\n", "f lines 1-1 of 1\n1\ta\x0cb\u2029c"),
    ],
)
async def test_read_shows_any_text_and_remarks_what_is_odd(bench: Bench, data: bytes, output: str) -> None:
    bench.write("f", data)
    assert await bench.ok("read", path="f") == output


async def test_long_files_and_lines_are_cut_and_say_how_to_go_on(bench: Bench) -> None:
    bench.write("long.txt", "".join(f"line {number}\n" for number in range(1, 20_001)))
    first = await bench.ok("read", path="long.txt")
    assert len(first) < 70_000
    last_line = first.split("\n")[-1]
    assert last_line.startswith("[cut here; read on with start=")
    start = int(last_line.split("=")[1].rstrip("]"))
    assert f"\n{start - 1}\tline {start - 1}\n" in first
    assert (await bench.ok("read", path="long.txt", start=start)).split("\n")[1] == f"{start}\tline {start}"
    bench.write("wide.txt", "x" * 100_000 + "\nnext\n")
    wide = await bench.ok("read", path="wide.txt")
    assert "[+98000 characters]\n2\tnext" in wide
    assert len(wide) < 3000


async def test_a_megabyte_is_read_off_the_loop(bench: Bench) -> None:
    bench.write("big.txt", "0123456789\n" * 100_000)
    assert "of 100000" in await bench.ok("read", path="big.txt", start=99_999)


async def test_list_goes_two_levels_deep_unless_told(bench: Bench) -> None:
    for name in ("b.txt", "a/one.txt", "a/deep/two.txt", "a/deep/er/three.txt", "a.txt"):
        bench.write(name, "")
    assert await bench.ok("list") == "a/\na/deep/\na/one.txt\na.txt\nb.txt"
    assert await bench.ok("list", depth=1) == "a/\na.txt\nb.txt"
    assert await bench.ok("list", path="a/deep", depth=2) == "a/deep/er/\na/deep/er/three.txt\na/deep/two.txt"
    (bench.root / "empty").mkdir()
    assert await bench.ok("list", path="empty") == "[nothing here]"


async def test_list_is_bounded(bench: Bench) -> None:
    for number in range(1100):
        bench.write(f"f{number:04}.txt", "")
    result = await bench.run("list")
    lines = result.output.split("\n")
    assert (len(lines), lines[999]) == (1001, "f0999.txt")
    assert lines[-1] == "[stopped after 1000 entries; give a path or a smaller depth]"
    assert dict(result.data) == {"entries": 1000, "complete": False}


async def test_list_says_what_is_wrong(bench: Bench) -> None:
    bench.write("a.txt", "")
    assert await bench.refused("list", path="a.txt") == "not_a_folder: a.txt is a file; use read"
    assert await bench.refused("list", path="x") == "not_found: x: no such folder"
    assert "goes from 1 to 20" in await bench.refused("list", depth=21)


async def test_a_tree_deeper_than_recursion_is_walked(bench: Bench) -> None:
    folder = bench.root
    for _ in range(1200):
        folder = folder / "d"
        if len(str(folder)) > 3900:
            break
        folder.mkdir()
    try:
        assert (await bench.ok("list", depth=20)).count("\n") == 19
        assert await bench.ok("search", pattern="x") == "0 hits"
    finally:
        # pytest removes old folders by recursion and would fail at that, runs later.
        while folder != bench.root:
            if folder.exists():
                folder.rmdir()
            folder = folder.parent
