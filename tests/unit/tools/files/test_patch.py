from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from agent_core.tools.port import ToolContext, ToolResult
from tests.support.tools.toolbox import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def begin(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


async def test_add_update_move_and_delete_in_one_go(bench: Bench) -> None:
    bench.write("keep.py", "import os\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return 1\n")
    bench.write("old.py", "one\r\ntwo\r\n").chmod(0o755)
    bench.write("gone.py", "bye\n")
    patch = begin(
        "*** Add File: new/a.txt",
        "+first",
        "+",
        "*** Update File: keep.py",
        "@@ def g():",
        "-    return 1",
        "+    return 2",
        "*** Update File: old.py",
        "*** Move to: sub/moved.py",
        "@@",
        " one",
        "-two",
        "+zwei",
        "+drei",
        "*** Delete File: gone.py",
    )
    result = await bench.run("patch", patch=patch)
    assert result.output.split("\n")[0] == "patched 5 files (+6 -4)"
    assert "created new/a.txt (+2 -0)" in result.output
    assert "edited keep.py (+1 -1)\n@@ -6,4 +6,4 @@" in result.output
    assert "deleted gone.py (+0 -1)" in result.output
    assert set(result.files_changed) == {"new/a.txt", "keep.py", "old.py", "sub/moved.py", "gone.py"}
    assert tree(bench.root) == {
        "new/a.txt": b"first\n\n",
        "keep.py": b"import os\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return 2\n",
        "sub/moved.py": b"one\r\nzwei\r\ndrei\r\n",
    }
    assert (bench.root / "sub/moved.py").stat().st_mode & 0o777 == 0o755


UNIFIED = """diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@ heading
 1
-2
+zwei
 3
@@ -8,3 +8,2 @@
 8
-9
 10
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+x
+y
\\ No newline at end of file
diff --git a/dead.txt b/dead.txt
deleted file mode 100644
--- a/dead.txt
+++ /dev/null
@@ -1 +0,0 @@
-dead
diff --git a/was.txt b/is.txt
similarity index 100%
rename from was.txt
rename to is.txt
"""


async def test_a_unified_diff_does_what_git_does(bench: Bench, tmp_path: Path) -> None:
    def fill(root: Path) -> None:
        (root / "a.txt").write_text("".join(f"{number}\n" for number in range(1, 11)))
        (root / "dead.txt").write_text("dead\n")
        (root / "was.txt").write_text("same\n")

    fill(bench.root)
    await bench.ok("patch", patch=UNIFIED)
    ours = tree(bench.root)
    other = tmp_path / "git"
    other.mkdir()
    fill(other)
    git_apply(other)
    assert ours == tree(other)


def git_apply(folder: Path) -> None:
    subprocess.run(["git", "apply", "-"], cwd=folder, input=UNIFIED.encode(), check=True)


@pytest.mark.parametrize(
    ("before", "body", "after"),
    [
        ("a\nb", ["@@", "-b", "+c"], "a\nc"),
        ("a\nb", ["@@", " b", "+c"], "a\nb\nc"),
        ("a\nb", ["@@", "-b"], "a\n"),
        ("a\n", ["@@", " a", "+b", "*** End of File"], "a\nb\n"),
        ("x\na\nx\na\n", ["@@", "-a", "+b", "*** End of File"], "x\na\nx\nb\n"),
        ("x\na\ny\na\n", ["@@ y", "-a", "+b"], "x\na\ny\nb\n"),
        ("class A:\n  def f():\n    1\nclass B:\n  def f():\n    1\n",
         ["@@ class B:", "@@   def f():", "-    1", "+    2"],
         "class A:\n  def f():\n    1\nclass B:\n  def f():\n    2\n"),
        ("a  \nb\n", ["@@", " a", "-b", "+c"], "a  \nc\n"),
        ("a\r\nb\nc\r\n", ["@@", " a", "-b", "+B", "+B", " c"], "a\r\nB\nB\nc\r\n"),
        ("a\nb\nc\nd\ne\n", ["@@", "-a", "+A", " b", "@@", " d", "-e", "+E"], "A\nb\nc\nd\nE\n"),
        ("a\n\nb\n", ["@@", " a", "", "-b", "+c"], "a\n\nc\n"),
        ("", ["@@", "+a"], "a\n"),
        ("a\u2028b\fc\nd\n", ["@@", "-a\u2028b\fc", "+e"], "e\nd\n"),
    ],
)  # fmt: skip
async def test_context_decides_where_a_hunk_goes(bench: Bench, before: str, body: list[str], after: str) -> None:
    bench.write("f", before)
    await bench.ok("patch", patch=begin("*** Update File: f", *body))
    assert bench.bytes("f").decode() == after


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ("", "bad_patch: the patch is empty"),
        ("just words", "neither *** Begin Patch nor --- and +++ lines"),
        (begin(), "the patch changes no file"),
        (begin("*** Rename File: f"), "line 2 of the patch: expected *** Add File"),
        (begin("*** Add File: n", "text"), "line 3 of the patch: each line of a new file starts with +"),
        (begin("*** Update File: f"), "no change is given for f"),
        (begin("*** Update File: f", "@@"), "a hunk of f has no lines"),
        (begin("*** Update File: f", "@@", "a"), "a line of a hunk starts with a space, + or -"),
        (begin("*** Update File: nope", "@@", "-a"), "nope: no such file"),
        (begin("*** Delete File: nope"), "nope: no such file"),
        (begin("*** Add File: f", "+x"), "f exists already"),
        (begin("*** Update File: g", "*** Move to: f"), "f exists already"),
        (begin("*** Update File: f", "@@", "-zzz"), "hunk 1 of 1 for f is not found: no line 'zzz'"),
        (begin("*** Update File: f", "@@", " a", "-x"), "its first lines fit at line 1, but line 2 is 'b', not 'x'"),
        (begin("*** Update File: f", "@@", "-  b", "+c"), "it stands at line 2 with other white space"),
        (begin("*** Update File: g", "@@", "-s", "+t"), "ambiguous: hunk 1 of 1 for g fits 2 times, at lines 1, 2"),
        (begin("*** Update File: f", "@@ nowhere", "-a"), "no line 'nowhere' after line 0"),
        (begin("*** Update File: f", "@@", "+z"), "has no context line that says where it goes"),
        (begin("*** Update File: f", "@@", " b", "@@", "-a", "+A"), "it stands at line 1 before an earlier hunk"),
        (begin("*** Update File: f", "@@", " a"), "no_change: the patch leaves every file as it is"),
        (begin("*** Add File: ../x", "+x"), "outside: ../x is outside the workspace"),
        (begin("*** Add File: .git/hooks/x", "+x"), "belongs to git"),
        (begin("*** Delete File: f") + "more", "text after *** End Patch"),
        ("--- a/f\n", "line 1 of the patch: a +++ line is missing after ---"),
        ("--- a/f\n+++ b/f\n", "no hunk for f"),
        ("@@ -1 +1 @@\n-a\n+b\n", "a hunk without --- and +++ lines"),
        ("diff --git a/f b/f\nGIT binary patch\n", "binary changes can't be applied"),
    ],
)
async def test_a_patch_that_does_not_fit_changes_nothing(bench: Bench, patch: str, message: str) -> None:
    bench.write("f", "a\nb\n")
    bench.write("g", "s\ns\n")
    before = tree(bench.root)
    assert message in await bench.refused("patch", patch=patch)
    assert tree(bench.root) == before
    good = begin("*** Add File: fine", "+x").replace("*** End Patch\n", "")
    if patch.startswith("*** Begin Patch\n*** ") and "no file" not in message and "no_change" not in message:
        await bench.refused("patch", patch=good + patch.removeprefix("*** Begin Patch\n"))
        assert tree(bench.root) == before


async def test_line_numbers_of_a_diff_choose_among_equal_places(bench: Bench) -> None:
    bench.write("f", "s\n" * 9)
    await bench.ok("patch", patch="--- a/f\n+++ b/f\n@@ -5 +5 @@\n-s\n+t\n")
    assert bench.bytes("f") == b"s\n" * 4 + b"t\n" + b"s\n" * 4


async def test_sections_see_what_earlier_ones_did(bench: Bench) -> None:
    bench.write("f", "a\n")
    patch = begin(
        "*** Update File: f", "@@", "-a", "+b",
        "*** Update File: f", "@@", "-b", "+c",
        "*** Add File: n", "+x",
        "*** Update File: n", "*** Move to: m",
        "*** Add File: t", "+x",
        "*** Delete File: t",
    )  # fmt: skip
    await bench.ok("patch", patch=patch)
    assert tree(bench.root) == {"f": b"c\n", "m": b"x\n"}


async def test_all_or_nothing_when_the_disk_refuses_half_way(bench: Bench) -> None:
    for name in "abc":
        bench.write(name, "1\n")
    (bench.root / "c").chmod(0o444)
    patch = begin(
        "*** Add File: new/x", "+x",
        "*** Delete File: a",
        "*** Update File: b", "@@", "-1", "+2",
        "*** Update File: c", "@@", "-1", "+2",
    )  # fmt: skip
    assert "c is read-only" in await bench.refused("patch", patch=patch)
    assert tree(bench.root) == {"a": b"1\n", "b": b"1\n", "c": b"1\n"}
    assert not (bench.root / "new").exists()


async def test_all_or_nothing_when_the_encoding_refuses(bench: Bench) -> None:
    bench.write("a", "1\n")
    bench.write("b", b"\xe9\n")
    patch = begin("*** Update File: a", "@@", "-1", "+2", "*** Update File: b", "@@", "-é", "+漢")
    assert "b is written in latin-1" in await bench.refused("patch", patch=patch)
    assert tree(bench.root) == {"a": b"1\n", "b": b"\xe9\n"}


async def test_what_the_user_changed_since_is_shown_first(bench: Bench) -> None:
    bench.write("a", "1\n")
    bench.write("b", "1\n")
    await bench.ok("read", path="b")
    bench.write("b", "1\nuser\n")
    patch = begin("*** Update File: a", "@@", "-1", "+2", "*** Update File: b", "@@", "-1", "+2")
    assert "+user" in await bench.refused("patch", patch=patch)
    assert tree(bench.root) == {"a": b"1\n", "b": b"1\nuser\n"}
    await bench.ok("patch", patch=patch)
    assert tree(bench.root) == {"a": b"2\n", "b": b"2\nuser\n"}


async def test_many_hunks_in_a_large_file_are_quick(bench: Bench) -> None:
    bench.write("f", "".join(f"line {number}\r\n" for number in range(20_000)))
    body = [part for number in range(0, 20_000, 40) for part in ("@@", f"-line {number}", f"+LINE {number}")]
    result = await timed(bench, begin("*** Update File: f", *body))
    assert result.output.startswith("patched 1 file (+500 -500)")
    text = bench.bytes("f").decode()
    assert text.count("LINE") == 500
    assert text.count("\r\n") == text.count("\n") == 20_000


async def test_the_report_of_a_huge_patch_is_bounded(bench: Bench) -> None:
    sections = [part for number in range(300) for part in (f"*** Add File: f{number}", *["+some text here"] * 20)]
    result = await bench.run("patch", patch=begin(*sections))
    assert len(result.output) < 30_000
    assert result.output.count("created f") == 300
    assert len(result.files_changed) == 300


async def timed(bench: Bench, patch: str) -> ToolResult:
    async with asyncio.timeout(10):
        return await bench.box.run("patch", json.dumps({"patch": patch}), ToolContext(tool_call="c"))
