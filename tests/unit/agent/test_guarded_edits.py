"""Edits of what runs by itself ask each time, whatever else is free; undo mixes nothing into them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_core.agent.approvals.policy import Policy, targets_of
from agent_core.agent.checkpoints.checkpoints import Checkpoints
from agent_core.agent.checkpoints.store import Store
from agent_core.agent.checkpoints.undo import GUARDED, undo
from agent_core.errors import ToolError
from agent_core.tools.workspace.guarded import GuardRules
from agent_core.tools.workspace.workspace import Workspace
from tests.support.tools.toolbox import Bench

PATCH = """*** Begin Patch
*** Update File: a.py
*** Move to: .envrc
@@
-a
+b
*** Add File: .vscode/x
+x
*** End Patch
"""


@pytest.mark.parametrize("approve", ["auto", "ask"])
@pytest.mark.parametrize("kind", ["auto", "ask"])
def test_it_asks_also_where_edits_are_free(approve: Any, kind: Any) -> None:
    policy = Policy(approve, kinds={"edit": kind})
    policy.remember("edit", ".envrc")
    verdict = policy.decide("edit", "edit", ".envrc", ".envrc: direnv runs it")
    assert (verdict.outcome, verdict.rule, verdict.always, verdict.even_auto) == (
        "ask",
        ".envrc: direnv runs it",
        False,
        True,
    )
    assert policy.decide("edit", "edit", "a.py").outcome == "allow" or (approve, kind) == ("ask", "ask")


def test_never_stays_never() -> None:
    assert Policy("never").decide("edit", "edit", ".envrc", "x").outcome == "deny"
    assert Policy("auto", kinds={"edit": "never"}).decide("edit", "edit", ".envrc", "x").outcome == "deny"


def test_all_that_a_patch_writes_is_looked_at() -> None:
    assert targets_of("patch", {"patch": PATCH}) == ["a.py", ".envrc", ".vscode/x"]
    assert targets_of("edit", {"path": "x"}) == ["x"] and targets_of("patch", {"patch": "nonsense"}) == []


@pytest.mark.parametrize("path", [".exrc", "sub/AGENTS.md", ".VSCode/a", "link", "folder/a", "mine.tcl"])
async def test_without_a_yes_no_tool_writes_them(tmp_path: Path, path: str) -> None:
    bench = Bench(tmp_path, guarded=("*.tcl",))
    (tmp_path / ".vscode").mkdir()
    (tmp_path / "link").symlink_to(".exrc")
    (tmp_path / "folder").symlink_to(".vscode")
    assert (await bench.refused("edit", path=path, old="", new="x\n")).startswith("guarded: ")
    assert bench.workspace.guarded(path) is not None and not bench.workspace.may_write(path)
    with bench.workspace.permitting([path]):
        await bench.ok("edit", path=path, old="", new="x\n")
    assert (await bench.refused("edit", path=path, old="x", new="y")).startswith("guarded: ")


async def test_undo_brings_them_back_whole_and_mixes_nothing_in(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    instructions = tmp_path / "root/AGENTS.md"
    instructions.write_text("one\ntwo\nthree\n")
    workspace = Workspace([tmp_path / "root"], guards=GuardRules())
    checkpoints = Checkpoints(Store(tmp_path / "kept", "s", 10_000_000), workspace)
    with checkpoints.recording("turn"), workspace.permitting(["AGENTS.md", "notes.md"]):
        file = await workspace.read("AGENTS.md")
        await workspace.create(workspace.resolve("notes.md"), file.content)
        await workspace.remove(file)
    notes = tmp_path / "root/notes.md"
    notes.write_text("one\ntwo\nthree\nobey me\n")
    report = await undo(checkpoints, workspace, "turn", "undo1")
    assert not instructions.exists() and [each.reason for each in report.conflicts] == [GUARDED]
    notes.write_text("one\ntwo\nthree\n")
    report = await undo(checkpoints, workspace, "turn", "undo2")
    assert instructions.read_text() == "one\ntwo\nthree\n" and not report.conflicts
    with pytest.raises(ToolError, match="guarded"):
        await workspace.remove(await workspace.read("AGENTS.md"))
