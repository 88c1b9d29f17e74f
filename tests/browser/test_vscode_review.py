"""Reviewing what a turn changed, hunk by hunk, while the user's own unsaved text stays where it is."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.support.editors.vscode import CodeServer, window
from tests.support.editors.vscode_model import StreamingPuppet
from tests.support.editors.vscode_view import session_view
from tests.support.lsp.puppet import steps
from tests.support.system.waiting import eventually

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("nothing_asked"),
]

ADD = "*** Begin Patch\n*** Add File: new.py\n+y = 1\n*** End Patch\n"
LINES = [f"line_{number} = {number}" for number in range(60)]


async def test_hunks_and_files_are_accepted_and_rejected_one_by_one(
    browser: Browser, vscode: CodeServer, model: StreamingPuppet, tmp_path: Path
) -> None:
    project = tmp_path / "lines"
    project.mkdir()
    file, other, new = project / "lines.py", project / "other.py", project / "new.py"
    file.write_text("\n".join(LINES) + "\n")
    other.write_text("x = 1\n")
    async with window(browser, vscode, project, "review") as editor:
        view = await session_view(editor)
        buffer = await editor.open("lines.py")
        await editor.go_to_line(60)
        await editor.page.keyboard.press("End")
        await editor.page.keyboard.type("  # mine, not saved")
        await expect(buffer).to_contain_text("line_59 = 59 # mine, not saved")
        await view.say(
            steps(
                {"call": "edit", "args": {"path": "lines.py", "old": "line_5 = 5\n", "new": "line_5 = 55\n"}},
                {"call": "edit", "args": {"path": "lines.py", "old": "line_40 = 40\n", "new": "line_40 = 44\n"}},
                {"call": "edit", "args": {"path": "other.py", "old": "x = 1", "new": "x = 2"}},
                {"call": "patch", "args": {"patch": ADD}},
                {"text": "Changed."},
            )
        )
        await expect(view.ends("completed")).to_be_visible()
        await expect(view.changes.locator("details[data-path]")).to_have_count(3)
        changed = view.changes.locator('details[data-path="lines.py"]')
        await changed.locator("summary").click()
        await expect(changed.locator("[data-hunk]")).to_have_count(2)
        await changed.get_by_role("button", name="Diff", exact=False).first.click()
        await expect(editor.page.locator(".monaco-diff-editor .line-insert").first).to_be_visible()
        await editor.picture("hunks")

        await changed.get_by_role("button", name="Reject change 2").click()
        await expect(changed.locator("[data-hunk]")).to_have_count(1)
        await changed.get_by_role("button", name="Accept change 1").click()
        await expect(changed).to_have_count(0)
        await view.changes.locator('details[data-path="other.py"] summary').click()
        await view.changes.get_by_role("button", name="Reject other.py").click()
        await eventually(lambda: other.read_text() == "x = 1\n")
        await view.changes.locator('details[data-path="new.py"] summary').click()
        await view.changes.get_by_role("button", name="Reject new.py").click()
        await eventually(lambda: not new.exists())
        await expect(view.changes).to_be_hidden()

        await editor.command("File: Save All Files")
        wanted = [*LINES[:5], "line_5 = 55", *LINES[6:-1], f"{LINES[-1]}  # mine, not saved"]
        with contextlib.suppress(TimeoutError):
            await eventually(lambda: file.read_text().splitlines() == wanted)
        assert file.read_text().splitlines() == wanted
