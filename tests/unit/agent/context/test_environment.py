"""What changes around a conversation is told once, when it changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agent_core.agent.context import environment
from agent_core.agent.context.environment import EnvironmentContext
from agent_core.agent.context.fragments import MAX_TOKENS, tokens_of
from agent_core.errors import ToolError
from agent_core.tools.editor.diagnostics import Diagnostic
from agent_core.tools.workspace.workspace import OpenDocument, Workspace
from tests.support.agent.git import ENV, git


class Editor:
    """A host's open buffers and diagnostics, told by hand."""

    def __init__(self) -> None:
        self.buffers: dict[str, OpenDocument] = {}
        self.found: list[Diagnostic] = []
        self.hangs = False

    async def look(self, path: str) -> None:
        """All of it is known."""

    def get(self, path: str) -> OpenDocument | None:
        return self.buffers.get(path)

    def opened(self) -> Mapping[str, OpenDocument]:
        return self.buffers

    async def replace(self, path: str, base_version: int, content: str) -> bool:
        return False

    async def diagnostics(self, path: str | None) -> Sequence[Diagnostic]:
        if self.hangs:
            await asyncio.Event().wait()
        return self.found


def problem(path: Path, line: int, message: str, severity: str = "error") -> Diagnostic:
    return Diagnostic(path=str(path), line=line, column=1, severity=severity, message=message)  # type: ignore[arg-type]


async def test_a_plain_folder_has_nothing_to_tell(tmp_path: Path) -> None:
    assert await EnvironmentContext(Workspace([tmp_path]), ENV).notes() == []


async def test_git_is_told_at_first_and_when_it_changed(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("x\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    around = EnvironmentContext(Workspace([tmp_path]), ENV)
    (first,) = await around.notes()
    assert "on branch main" in first and "no changes" in first
    assert await around.notes() == []
    (tmp_path / "a.py").write_text("y\n")
    (tmp_path / "odd\nname").write_text("z\n")
    (second,) = await around.notes()
    assert "2 changed:" in second and "a.py (modified)" in second and r'"odd\nname" (untracked)' in second
    git(tmp_path, "checkout", "-q", "-b", "topic")
    (third,) = await around.notes()
    assert "on branch topic" in third


async def test_what_others_did_to_files_that_the_model_saw_is_told_as_a_diff(tmp_path: Path) -> None:
    """vscode-copilot-release#8304: without it the next edit brings back what the user removed."""
    workspace = Workspace([tmp_path])
    (tmp_path / "a.py").write_text("one\ntwo\n")
    (tmp_path / "unseen.py").write_text("x\n")
    around = EnvironmentContext(workspace, ENV)
    workspace.note_seen(await workspace.read("a.py"))
    assert await around.notes() == []
    (tmp_path / "a.py").write_text("one\nthree\n")
    (tmp_path / "unseen.py").write_text("y\n")
    (note,) = await around.notes()
    assert note.startswith("Changed by others") and "-two" in note and "+three" in note and "unseen" not in note
    assert await around.notes() == []


async def test_a_great_change_is_bounded(tmp_path: Path) -> None:
    workspace = Workspace([tmp_path])
    for n in range(40):
        (tmp_path / f"{n}.py").write_text("old\n" * 100)
        workspace.note_seen(await workspace.read(f"{n}.py"))
        (tmp_path / f"{n}.py").write_text(f"new {n}\n" * 100)
    (note,) = await EnvironmentContext(workspace, ENV).notes()
    assert tokens_of(note) <= MAX_TOKENS["changes"]


async def test_open_documents_and_diagnostics_come_from_the_host(tmp_path: Path) -> None:
    editor = Editor()
    around = EnvironmentContext(Workspace([tmp_path]), ENV, editor, editor)
    assert await around.notes() == []
    editor.buffers = {
        str(tmp_path / "a.py"): OpenDocument("x", 1, True),
        str(tmp_path / ".env"): OpenDocument("KEY=1", 1, False),
        "/elsewhere/b.py": OpenDocument("x", 1, False),
    }
    editor.found = [
        problem(tmp_path / "a.py", 3, "unused  import", "warning"),
        problem(tmp_path / "a.py", 9, "undefined\nname"),
        problem(Path("/elsewhere/b.py"), 1, "not ours"),
    ]
    documents, diagnostics = await around.notes()
    assert documents == "Open in the editor:\na.py (not saved)"
    assert diagnostics.split("\n") == [
        "Diagnostics in the editor (2):",
        "a.py:9:1: error: undefined name",
        "a.py:3:1: warning: unused import",
    ]
    assert await around.notes() == []
    editor.found = []
    assert await around.notes() == ["No more diagnostics."]
    assert await around.notes() == []


@pytest.mark.parametrize("how", ["hangs", "is lost"])
async def test_a_host_that_does_not_answer_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    class Lost(Editor):
        async def diagnostics(self, path: str | None) -> Sequence[Diagnostic]:
            raise ToolError("the editor is gone", code="host_lost")

    monkeypatch.setattr(environment, "HOST_LIMIT_S", 0.02)
    editor = Lost() if how == "is lost" else Editor()
    editor.hangs = True
    async with asyncio.timeout(10):
        assert await EnvironmentContext(Workspace([tmp_path]), ENV, None, editor).notes() == []


async def test_after_a_compaction_everything_is_told_again(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    around = EnvironmentContext(Workspace([tmp_path]), ENV)
    first = await around.notes()
    assert await around.notes() == []
    around.forget()
    assert await around.notes() == first != []
