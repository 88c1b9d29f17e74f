"""A user's way through the extension in the real editor: from a failing test to a reviewed fix, and back."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect
from playwright.async_api import TimeoutError as PlaywrightTimeout

from agent_core.demo.sample import run_tests
from tests.support.agent.sample import OTHER_BUGS, copy_with
from tests.support.editors.vscode import CodeServer, window
from tests.support.editors.vscode_scenes import LOOPLINE, seed
from tests.support.editors.vscode_view import View, session_view
from tests.support.system.cli import tree
from tests.support.system.waiting import eventually

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

LIVE = re.compile(r"[\d,.]+ tok/s · [\d,.]+ m?s · (\d+ %|–)")
CALM = re.compile(r"repair \(no model\) · [\d,.]+ m?s · \d+ % ⟲")


async def test_from_a_failing_test_to_a_reviewed_fix_and_back(
    browser: Browser, vscode: CodeServer, tmp_path: Path
) -> None:
    """The bug is drawn by seed; the model is the service's own `repair`, so nothing here is told in advance."""
    bug = random.Random(seed()).choice(sorted(OTHER_BUGS))
    project = copy_with(tmp_path / "inventory", bug)
    broken = tree(project)
    vscode.settings({"loopline.server.path": str(LOOPLINE)})
    async with window(browser, vscode, project, "story", viewport={"width": 1120, "height": 700}) as editor:
        view = await session_view(editor)
        await expect(editor.status()).to_contain_text("repair (no model)")

        # a first turn finds the failing tests, and is stopped where it asks for more
        await view.say("make the tests pass")
        await expect(view.approvals()).to_contain_text("measures which lines")
        await expect(editor.status()).to_contain_text(LIVE)
        await editor.picture("story-1-approval")
        assert await view.violations() == []
        await view.answer("Allow")
        await expect(view.approvals()).to_contain_text("wants to run checks")
        await view.answer("Allow")
        await expect(view.tools("checks").first).to_have_attribute("data-status", "ok")
        await expect(view.approvals()).to_contain_text("in a temporary copy")
        await view.frame.get_by_role("button", name="Stop").click()
        await expect(view.ends("cancelled")).to_be_visible()
        await expect(view.approvals()).to_have_count(0)
        assert tree(project) == broken

        # the failing test is a problem in the editor, and its menu starts the turn that fixes it
        await editor.go_to_problem("fails:")
        await editor.quick_fix("Fix with Loopline")
        await expect(view.items("user").nth(1)).to_contain_text("Make the failing test")
        await finished(view)
        await expect(editor.status()).to_contain_text(CALM)
        await editor.picture("story-2-fixed", readme="session")
        assert await view.violations() == []
        fixed = tree(project)
        assert (await run_tests(project)).ok and fixed != broken

        # the change is looked at and accepted
        await expect(view.changes).to_contain_text("1 file to review")
        await view.button("Review the changes in the diff editor").click()
        (old, new) = changed_line(broken, fixed)
        diff = editor.page.locator(".monaco-diff-editor").first
        await expect(diff).to_contain_text(old)
        await expect(diff).to_contain_text(new)
        await expect(diff.locator(".line-insert").first).to_be_visible()
        await editor.picture("story-3-review", readme="review")
        await view.changes.locator("summary").first.click()
        await view.changes.get_by_role("button", name="Accept change 1").click()
        await expect(view.changes).to_be_hidden()
        assert tree(project) == fixed

        # and taken back as a whole
        await view.button("Undo the changes of this turn").click()
        await eventually(lambda: tree(project) == broken)
        await expect(view.log).to_contain_text("Undone")
        await expect(view.changes).to_be_hidden()
        await editor.picture("story-4-undone")
        assert not (await run_tests(project)).ok


def changed_line(before: dict[str, bytes], after: dict[str, bytes]) -> tuple[str, str]:
    """The first line that differs, as it was and as it is."""
    (name,) = [name for name in after if before.get(name) != after[name]]
    pairs = zip(before[name].decode().splitlines(), after[name].decode().splitlines(), strict=False)
    old, new = next((one, other) for one, other in pairs if one != other)
    return old.strip(), new.strip()


async def finished(view: View) -> None:
    """Allow what the turn asks for until it is over."""
    allow = view.approvals().first.get_by_role("button", name="Allow", exact=True)
    async with asyncio.timeout(120):
        while not await view.ends("completed").count():
            with contextlib.suppress(PlaywrightTimeout):
                await allow.click(timeout=1_000)
