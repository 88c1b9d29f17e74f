"""What is done from the palette and by notifications: a key, a model, a task, and an approval that nobody sees."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.support.editors.vscode import CodeServer, window
from tests.support.editors.vscode_model import StreamingPuppet
from tests.support.editors.vscode_scenes import LOOPLINE, small_project
from tests.support.editors.vscode_view import opened_view, session_view
from tests.support.lsp.puppet import steps
from tests.support.system.waiting import eventually

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

KEY = "sk-" + "only-for-this-test-7319"


async def test_a_key_is_kept_by_the_server_alone_and_a_model_is_chosen(
    browser: Browser, vscode: CodeServer, tmp_path: Path
) -> None:
    vscode.settings({"loopline.server.path": str(LOOPLINE)})
    async with window(browser, vscode, small_project(tmp_path), "palette") as editor:
        view = await session_view(editor)
        await expect(editor.status()).to_contain_text("repair (no model)")
        await editor.command("Loopline: Set Key")
        await editor.enter("Provider", "upstream")
        await editor.enter("Key for upstream", KEY)
        await expect(editor.toasts().filter(has_text="private file")).to_be_visible()
        holders = [file for file in vscode.home.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
        assert [file.name for file in holders] == ["keys.json"]
        assert holders[0].stat().st_mode & 0o077 == 0
        await editor.command("Loopline: Set Key")
        await editor.enter("Provider", "upstream")
        await editor.enter("Key for upstream", "")
        await eventually(lambda: KEY not in holders[0].read_text() if holders[0].exists() else True)

        await editor.command("Loopline: Choose Model")
        await editor.page.locator(".quick-input-list .monaco-list-row", has_text="scripted").first.click()
        await expect(view.frame.locator("#model")).to_contain_text("scripted")
        await expect(editor.status()).not_to_contain_text("no model")
        settings = vscode.user / "User" / "settings.json"
        await eventually(lambda: '"loopline.model": "scripted"' in settings.read_text())  # emptied, then written


async def test_an_approval_that_nobody_sees_is_notified_and_answered_there(
    browser: Browser, vscode: CodeServer, model: StreamingPuppet, tmp_path: Path
) -> None:
    project = small_project(tmp_path)
    vscode.settings({"loopline.server.path": str(LOOPLINE)}, baseUrl=model.base_url, model="puppet")
    async with window(browser, vscode, project, "notified") as editor:
        await session_view(editor)
        await editor.command("Loopline: Start a Turn")
        call = {"call": "shell", "args": {"command": "echo yes > said"}, "after": "hidden"}
        await editor.enter("What should be done?", steps(call, {"text": "Said."}))
        await model.reached("hidden")
        await editor.command("View: Show Explorer")
        await expect(editor.page.locator(".explorer-folders-view")).to_be_visible()
        model.release("hidden")
        toast = editor.toasts().filter(has_text="waits for your approval")
        await expect(toast).to_contain_text("echo yes > said")
        await expect(editor.status()).to_contain_text("●")
        await editor.picture("approval-notified")
        await toast.get_by_role("button", name="Allow").click()
        await eventually(lambda: (project / "said").exists())
        view = await opened_view(editor)
        await expect(view.ends("completed")).to_be_visible()
        await expect(view.approvals("allow")).to_have_count(1)
