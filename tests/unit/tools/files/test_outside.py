"""What others change, and what the tools changed in all."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.tools.files.outside import outside_changes
from tests.support.tools.toolbox import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


# vscode-copilot-release#8304: text that the user took out came back with the next edit.
async def test_changes_between_turns_are_told_once(bench: Bench) -> None:
    for name in ("same.txt", "edited.txt", "gone.txt", "unseen.txt"):
        bench.write(name, "one\ntwo\n")
    for name in ("same.txt", "edited.txt", "gone.txt"):
        await bench.ok("read", path=name)
    await bench.ok("edit", path="same.txt", old="one", new="1")
    bench.write("edited.txt", "two\n")
    bench.write("unseen.txt", "new\n")
    (bench.root / "gone.txt").unlink()
    changes = await outside_changes(bench.workspace)
    assert [(change.path, change.note) for change in changes] == [
        ("edited.txt", "What changed meanwhile:\n@@ -1,2 +1 @@\n-one\n two\n"),
        ("gone.txt", "gone.txt: no such file."),
    ]
    assert await outside_changes(bench.workspace) == []
    await bench.ok("edit", path="edited.txt", old="two", new="2")


async def test_a_long_text_is_not_kept_to_compare_with(bench: Bench) -> None:
    bench.write("long.txt", "line\n" * 30_000)
    await bench.ok("read", path="long.txt")
    bench.write("long.txt", "short\n")
    assert [change.note for change in await outside_changes(bench.workspace)] == ["Its text is now:\n1\tshort"]


async def test_net_changes_leave_out_what_was_taken_back(bench: Bench) -> None:
    for name in ("kept.txt", "back.txt", "dead.txt"):
        bench.write(name, "one\n")
    await bench.ok("edit", path="kept.txt", old="one", new="two")
    await bench.ok("edit", path="back.txt", old="one", new="two")
    await bench.ok("edit", path="back.txt", old="two", new="one")
    await bench.ok(
        "patch", patch="*** Begin Patch\n*** Delete File: dead.txt\n*** Add File: new.txt\n+x\n*** End Patch"
    )
    found = {change.path: (change.added, change.removed) for change in await bench.workspace.net_changes()}
    assert found == {"kept.txt": (1, 1), "dead.txt": (0, 1), "new.txt": (1, 0)}
    bench.workspace.changes.clear()
    assert await bench.workspace.net_changes() == []
