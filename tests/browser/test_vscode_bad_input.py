"""What goes wrong around the extension: servers missing, old or dying, folders missing or read-only."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.support.editors.vscode import CodeServer, window
from tests.support.editors.vscode_model import StreamingPuppet
from tests.support.editors.vscode_scenes import LOOPLINE, read_only_server, server_script, small_project
from tests.support.editors.vscode_view import opened_view, session_view
from tests.support.lsp.puppet import steps
from tests.support.system.waiting import eventually

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]


async def test_servers_that_are_missing_too_old_or_crash_are_told_and_the_next_one_that_is_named_is_tried(
    browser: Browser, vscode: CodeServer, tmp_path: Path
) -> None:
    started, starts = tmp_path / "started", tmp_path / "starts"
    old = server_script(tmp_path / "old-loopline", f"touch {started}; exec sleep 60", version="0.0.9")
    crashing = server_script(tmp_path / "crashing", f"echo start >> {starts}; echo no memory left >&2; exit 3")
    vscode.forget()
    vscode.settings()
    async with window(browser, vscode, small_project(tmp_path), "servers") as editor:
        view = await opened_view(editor)
        await expect(view.host).to_have_attribute("data-phase", "missing")
        await expect(view.button("Install the server")).to_be_visible()
        await expect(editor.status()).to_contain_text("no server")
        await expect(view.frame.locator("#send")).to_be_disabled()
        await editor.picture("missing-server")

        vscode.settings({"loopline.server.path": str(tmp_path / "nothing")})
        await expect(view.host).to_contain_text("there is no such file")

        vscode.settings({"loopline.server.path": str(old)})
        await expect(view.host).to_contain_text("0.0.9, too old")
        assert not started.exists()

        vscode.settings({"loopline.server.path": str(crashing)})
        await expect(view.host).to_have_attribute("data-phase", "failed", timeout=60_000)
        await expect(view.host).to_contain_text("no memory left")
        await expect(editor.status()).to_contain_text("failed")
        await editor.picture("crashing-server")
        assert 2 <= len(starts.read_text().splitlines()) <= 6

        vscode.settings({"loopline.server.path": str(LOOPLINE)})
        await expect(view.frame.locator("#send")).to_be_enabled()
        await expect(view.host).to_be_hidden()


async def test_a_server_killed_in_mid_turn_is_started_again_and_the_turn_is_not_lost(
    browser: Browser, vscode: CodeServer, model: StreamingPuppet, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    told = server_script(tmp_path / "told", f'echo $$ > {pid}; exec {LOOPLINE} "$@"')
    vscode.settings({"loopline.server.path": str(told)}, baseUrl=model.base_url, model="puppet", approve="auto")
    async with window(browser, vscode, small_project(tmp_path), "killed") as editor:
        view = await session_view(editor)
        first = int(pid.read_text())
        await view.say(steps({"call": "read", "args": {"path": "sums.py"}}, {"stream": "word " * 100, "hold": "half"}))
        await model.reached("half")
        os.kill(first, signal.SIGKILL)
        await eventually(lambda: int(pid.read_text() or first) != first)
        await expect(view.frame.locator("#send")).to_have_text("Send")
        await expect(view.frame.locator("#send")).to_be_enabled()
        await expect(editor.status()).not_to_contain_text("tok/s")
        await expect(view.ends()).to_have_attribute("data-status", "interrupted")
        await editor.picture("killed-server")

        await view.say(steps({"text": "back again"}))
        await expect(view.items("text").last).to_contain_text("back again")


async def test_without_a_folder_the_view_says_so(browser: Browser, vscode: CodeServer, tmp_path: Path) -> None:
    vscode.settings({"loopline.server.path": str(LOOPLINE)})
    async with window(browser, vscode, None, "no-folder") as editor:
        view = await opened_view(editor)
        await expect(view.frame.get_by_role("button", name=re.compile("open a folder", re.I)).first).to_be_visible()
        await editor.picture("no-folder")


async def test_a_folder_that_can_not_be_written_is_left_as_it_is(
    browser: Browser, vscode: CodeServer, model: StreamingPuppet, tmp_path: Path
) -> None:
    project = small_project(tmp_path)
    server = read_only_server(tmp_path / "read-only", project)
    vscode.settings({"loopline.server.path": str(server)}, baseUrl=model.base_url, model="puppet", approve="auto")
    async with window(browser, vscode, project, "read-only") as editor:
        view = await session_view(editor)
        edit = {"path": "other.py", "old": "x = 1", "new": "x = 2"}
        await view.say(steps({"call": "edit", "args": edit}, {"text": "It could not be written."}))
        await expect(view.ends("completed")).to_be_visible()
        await expect(view.tools("edit")).to_have_attribute("data-status", "error")
        await expect(view.changes).to_be_hidden()
        assert (project / "other.py").read_text() == "x = 1\n"
