"""The server that comes inside the extension, installed from the view by somebody who has nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.support.editors.vscode import CodeServer, window
from tests.support.editors.vscode_scenes import small_project
from tests.support.editors.vscode_view import opened_view

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

INSTALL_MS = 300_000


async def test_the_server_is_installed_from_the_extension_itself(
    browser: Browser, vscode: CodeServer, tmp_path: Path
) -> None:
    vscode.forget()
    vscode.settings()
    async with window(browser, vscode, small_project(tmp_path), "install") as editor:
        view = await opened_view(editor)
        await view.button("Install the server").click()
        await expect(view.host).to_contain_text("Installing the server")
        await editor.picture("installing")
        await expect(view.frame.locator("#send")).to_be_enabled(timeout=INSTALL_MS)
        await expect(editor.status()).to_contain_text("repair (no model)")
        assert len(list(vscode.user.rglob("server-*/bin/loopline"))) == 1

        # it is there for the next window
        await editor.reload()
        view = await opened_view(editor)
        await expect(view.frame.locator("#send")).to_be_enabled()
