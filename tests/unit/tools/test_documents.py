"""Open buffers of a host come before the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.tools.toolbox import MAX_WIRE_BYTES
from tests.support.tools.buffers import Buffers
from tests.support.tools.toolbox import Bench


@pytest.fixture
def buffers() -> Buffers:
    return Buffers()


@pytest.fixture
def bench(tmp_path: Path, buffers: Buffers) -> Bench:
    bench = Bench(tmp_path, documents=buffers)
    bench.write("a.txt", "saved\n")
    buffers.open(tmp_path / "a.txt", "typed\r\nnot saved\r\n")
    return bench


# codex#41104: unsaved text was neither seen nor kept.
async def test_read_answers_from_the_buffer_and_says_so(bench: Bench) -> None:
    assert await bench.ok("read", path="a.txt") == (
        "a.txt lines 1-2 of 2\n1\ttyped\n2\tnot saved\n[from the editor's buffer, version 1, unsaved changes]"
    )


# vscode#326041, cline#12636: an edit went to disk beside the buffer.
async def test_an_edit_goes_through_the_buffer(bench: Bench, buffers: Buffers) -> None:
    await bench.ok("edit", path="a.txt", old="not saved\n", new="edited\nmore\n")
    document = buffers.get(str(bench.root / "a.txt"))
    assert document is not None
    assert document.content == "typed\r\nedited\r\nmore\r\n"


async def test_typing_between_read_and_edit_is_shown_first(bench: Bench, buffers: Buffers) -> None:
    await bench.ok("read", path="a.txt")
    buffers.type(bench.root / "a.txt", "typed\r\nnot saved\r\nand on\r\n")
    assert "+and on" in await bench.refused("edit", path="a.txt", old="typed\n", new="x\n")
    await bench.ok("edit", path="a.txt", old="typed\n", new="x\n")
    document = buffers.get(str(bench.root / "a.txt"))
    assert document is not None
    assert document.content == "x\r\nnot saved\r\nand on\r\n"


# zed#49162, claude-agent-acp#310: after a command rewrote a file, reads still gave the old buffer.
async def test_a_buffer_without_changes_gives_way_to_a_newer_file(bench: Bench, buffers: Buffers) -> None:
    buffers.open(bench.root / "a.txt", "saved\n", unsaved=False)
    assert "version 1, saved" in await bench.ok("read", path="a.txt")
    await bench.ok("shell", command="printf 'formatted\\n' > a.txt")
    assert await bench.ok("read", path="a.txt") == "a.txt lines 1-1 of 1\n1\tformatted"
    assert "a.txt:1:formatted" in await bench.ok("search", pattern="formatted")
    await bench.ok("edit", path="a.txt", old="formatted", new="edited")
    assert bench.bytes("a.txt") == b"edited\n"


# neovim#12970: a host that took no edit was believed.
async def test_a_host_that_refuses_is_reported(bench: Bench, buffers: Buffers) -> None:
    buffers.deaf = True
    refusal = await bench.refused("edit", path="a.txt", old="typed", new="x")
    assert refusal == "changed: a.txt changed in the editor in the meantime; nothing was written"
    assert bench.bytes("a.txt") == b"saved\n"


async def test_a_patch_that_fails_on_disk_takes_the_buffer_back(bench: Bench, buffers: Buffers) -> None:
    bench.write("b.txt", "b\n").chmod(0o444)
    sections = "*** Update File: a.txt\n@@\n-typed\n+changed\n*** Update File: b.txt\n@@\n-b\n+c\n"
    patch = f"*** Begin Patch\n{sections}*** End Patch"
    assert "b.txt is read-only" in await bench.refused("patch", patch=patch)
    document = buffers.get(str(bench.root / "a.txt"))
    assert document is not None
    assert document.content == "typed\r\nnot saved\r\n"


async def test_an_open_file_is_not_deleted_under_the_user(bench: Bench) -> None:
    patch = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"
    assert "open in the editor" in await bench.refused("patch", patch=patch)
    assert bench.bytes("a.txt") == b"saved\n"


async def test_open_documents_are_listed_with_their_state(bench: Bench, buffers: Buffers, tmp_path: Path) -> None:
    assert await bench.ok("open_documents") == "a.txt lines=2 version=1 unsaved\n1 open, 1 unsaved"
    buffers.type(bench.root / "a.txt", "one\ntwo\nthree\n")
    buffers.open(bench.root / "sub/new.py", "", unsaved=True)
    buffers.open(bench.root / "b.py", "x\n", unsaved=False)
    assert await bench.ok("open_documents") == (
        "a.txt lines=3 version=2 unsaved\nb.py lines=1 version=1\nsub/new.py lines=0 version=1 unsaved\n"
        "3 open, 2 unsaved"
    )


async def test_open_documents_tell_nothing_that_is_closed_to_tools(bench: Bench, buffers: Buffers) -> None:
    bench.write(".looplineignore", "private/\n")
    for path in (".env", "private/notes.md", "../outside.txt", "../../etc/passwd"):
        buffers.open(bench.root / path, "SECRET")
    output = await bench.ok("open_documents")
    assert output == "a.txt lines=2 version=1 unsaved\n1 open, 1 unsaved"


async def test_many_open_documents_are_cut(bench: Bench, buffers: Buffers) -> None:
    for number in range(300):
        buffers.open(bench.root / f"f{number:03}.py", "x\n", unsaved=False)
    lines = (await bench.ok("open_documents")).split("\n")
    assert len(lines) == 101 and lines[-1] == "301 open, 1 unsaved (the first 100 are shown)"


def test_without_an_editor_there_is_no_such_tool_and_with_one_all_fit_the_limit(bench: Bench, tmp_path: Path) -> None:
    assert "open_documents" not in {spec.name for spec in Bench(tmp_path).box.specs}
    assert len(bench.box.wire_json()) <= MAX_WIRE_BYTES
