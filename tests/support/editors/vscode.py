"""VS Code in tests: one code-server with the built extension, and windows of it in Chromium, each on its own folder."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.async_api import Browser, Frame, Locator, Page, Request, expect
from playwright.async_api import TimeoutError as PlaywrightTimeout

from tests.support.editors.vscode_install import InstalledEditor
from tests.support.system.cli import ROOT, environment
from tests.support.web.browser import CACHE, SCREENS

START_S = 60.0
INSTALL_S = 60.0
WORKBENCH_MS = 60_000
WAIT_MS = 30_000
"""For what takes a second or two on a quiet machine."""
EXTENSION = "loopline.loopline"
PICTURES = SCREENS / "vscode"
QUIET: dict[str, Any] = {
    "files.autoSave": "off",
    "files.hotExit": "off",
    "chat.disableAIFeatures": True,
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
    "workbench.enableExperiments": False,
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": "off",
    "extensions.ignoreRecommendations": True,
    "editor.cursorBlinking": "solid",
    "editor.minimap.enabled": False,
    "git.enabled": False,
    "workbench.reduceMotion": "on",
    "security.workspace.trust.enabled": False,
    "security.workspace.trust.startupPrompt": "never",
    "security.workspace.trust.banner": "never",
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "window.menuBarVisibility": "hidden",
    "workbench.layoutControl.enabled": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
}


class CodeServer:
    """A running code-server. `home` is where everything that it starts keeps its files."""

    def __init__(self, editor: InstalledEditor, folder: Path) -> None:
        self.editor, self.home = editor, folder
        self.user, self.extensions = folder / "user", folder / "extensions"
        self.log = folder / "code-server.log"
        self.url = ""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def env(self) -> dict[str, str]:
        """Of the editor and of all that it starts: nothing of this machine's settings, no gallery. What pip fetches
        for the server is kept between runs."""
        env = environment(self.home, HOME=str(self.home / "home"), PIP_CACHE_DIR=str(CACHE / "pip"))
        env.pop("PYTHONPATH")
        return {**env, "EXTENSIONS_GALLERY": json.dumps({"serviceUrl": "http://127.0.0.1:9"})}

    def install(self, vsix: Path) -> None:
        (self.home / "home").mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            self.editor.command(*self._folders, "--install-extension", str(vsix)),
            env=self.env, capture_output=True, text=True, timeout=INSTALL_S,
        )  # fmt: skip
        assert done.returncode == 0 and "successfully installed" in done.stdout, f"{done.stdout}\n{done.stderr}"

    def settings(self, values: Mapping[str, Any] | None = None, **more: Any) -> None:
        """Replace the user's settings, besides those that keep the editor quiet: `values` with the names of settings,
        `more` those of the extension by their last part. In a remote window, as this is one for the editor, what
        belongs to a machine is read from a file of its own, so both hold them."""
        wanted = {**QUIET, **(values or {}), **{f"loopline.{name}": value for name, value in more.items()}}
        for folder in ("User", "Machine"):
            file = self.user / folder / "settings.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(wanted))

    def forget(self) -> None:
        """Take away what the extension keeps, such as a server that it installed."""
        shutil.rmtree(self.user / "User" / "globalStorage" / EXTENSION, ignore_errors=True)

    def start(self) -> None:
        options = (
            "--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check",
            "--disable-getting-started-override", "--disable-proxy", "--ignore-last-opened",
            "--reconnection-grace-time", "30",
        )  # fmt: skip
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                self.editor.command(*self._folders, *options),
                env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        give_up = time.monotonic() + START_S
        while not (found := re.search(r"listening on (http://127\.0\.0\.1:\d+)", self.log.read_text())):
            assert self._process.poll() is None and time.monotonic() < give_up, self.log.read_text()[-3000:]
            time.sleep(0.05)
        self.url = found[1]

    def stop(self) -> None:
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(timeout=10)

    @property
    def _folders(self) -> tuple[str, ...]:
        return ("--user-data-dir", str(self.user), "--extensions-dir", str(self.extensions))


@contextlib.contextmanager
def code_server(editor: InstalledEditor, vsix: Path, folder: Path) -> Iterator[CodeServer]:
    """With the extension installed as a user installs it, and stopped at the end."""
    found = CodeServer(editor, folder)
    found.settings()
    found.install(vsix)
    found.start()
    try:
        yield found
    finally:
        found.stop()


class Window:
    """One window of the editor, as a person uses it: by the palette, the keyboard, and what can be clicked."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        page.context.on("request", self._requested)
        page.on("dialog", lambda dialog: self.dialogs.append(dialog.message))

    def _requested(self, request: Request) -> None:
        self.requests.append(request.url)

    async def load(self) -> None:
        await self.page.goto(self.url)
        await self.ready()

    async def reload(self) -> None:
        await self.page.reload()
        await self.ready()

    async def ready(self) -> None:
        """Until the workbench and the extension's status bar entry are there."""
        await expect(self.page.locator(".monaco-workbench .part.statusbar")).to_be_visible(timeout=WORKBENCH_MS)

    async def command(self, title: str) -> None:
        """Run a command by its title in the palette, `Category: Title`."""
        await self._pick("F1", f">{title}", title)

    async def open(self, name: str) -> Locator:
        """Open a file of the folder by its name; the editor of it."""
        base = name.rpartition("/")[2]
        await self._pick("Control+P", name, base)
        await expect(self.page.locator(f'.tab[data-resource-name="{base}"]').first).to_be_visible()
        return self.page.locator(".editor-instance .monaco-editor").first

    async def _pick(self, keys: str, text: str, row: str) -> None:
        """Choose by the quick input. It closes when something else takes the focus; then it is opened again."""
        entry = self.page.locator(".quick-input-widget input.input")
        found = self.page.locator(".quick-input-list .monaco-list-row", has_text=row).first
        for _ in range(4):
            await self.page.keyboard.press(keys)
            try:
                await entry.fill(text, timeout=WAIT_MS / 4)
                await found.wait_for(state="visible", timeout=WAIT_MS / 4)
            except PlaywrightTimeout:
                await self.page.keyboard.press("Escape")
                continue
            await self.page.keyboard.press("Enter")
            return
        raise AssertionError(f"the quick input has no {row!r} for {text!r}")

    async def enter(self, prompt: str, text: str) -> None:
        """Answer the question that the editor asks with `prompt`."""
        box = self.page.locator(".quick-input-widget", has_text=prompt)
        await expect(box).to_be_visible()
        await box.locator("input.input").fill(text)
        await self.page.keyboard.press("Enter")

    async def go_to_line(self, line: int) -> None:
        await self.page.keyboard.press("Control+G")
        entry = self.page.locator(".quick-input-widget input.input")
        await expect(entry).to_be_visible()
        await entry.fill(f":{line}")
        await self.page.keyboard.press("Enter")
        await expect(self.page.locator(".editor-instance .monaco-editor.focused")).to_be_visible()

    async def go_to_problem(self, text: str) -> None:
        """Open the first problem whose words hold `text` from the list of problems, and put that list away."""
        await self.command("Problems: Focus on Problems View")
        row = self.page.locator(".markers-panel .monaco-list-row", has_text=text).first
        await expect(row).to_be_visible()
        await row.dblclick()
        await expect(self.page.locator(".editor-instance .monaco-editor.focused")).to_be_visible()
        await self.command("View: Hide Panel")

    async def quick_fix(self, title: str) -> None:
        """Choose from the menu of code actions at the cursor."""
        await self.page.keyboard.press("Control+.")
        menu = self.page.locator(".action-widget")
        await expect(menu.get_by_text(title).first).to_be_visible()
        await menu.get_by_text(title).first.click()

    def status(self, item: str = "") -> Locator:
        """The extension's entry in the status bar."""
        return self.page.locator(f'.statusbar-item[id^="{EXTENSION}{item}"]').first

    def toasts(self) -> Locator:
        return self.page.locator(".notifications-toasts .notification-list-item")

    async def view(self) -> Frame:
        """The page inside of the extension's webview, which sits in two frames."""
        outer = self.page.locator(f'iframe.webview[src*="extensionId={EXTENSION}"]').first
        await expect(outer).to_be_attached(timeout=WAIT_MS)
        handle = await outer.element_handle()
        assert handle is not None
        frame = await handle.content_frame()
        assert frame is not None
        inner = await frame.wait_for_selector("#active-frame", state="attached", timeout=WAIT_MS)
        assert inner is not None
        found = await inner.content_frame()
        assert found is not None
        return found

    async def picture(self, name: str, readme: str = "") -> Path:
        """Keep a screenshot, for somebody to look at. With `LOOPLINE_README_PICTURES=true` those with a name for the
        extension's README are put there."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        path = PICTURES / f"{name}.png"
        await self.page.screenshot(path=path)
        if readme and os.environ.get("LOOPLINE_README_PICTURES") == "true":
            shutil.copy(path, ROOT / "extensions" / "vscode" / "media" / f"{readme}.png")
        return path


@contextlib.asynccontextmanager
async def window(
    browser: Browser, server: CodeServer, folder: Path | None, name: str = "", **options: Any
) -> AsyncIterator[Window]:
    """A window on `folder` (None: an empty one). When a test fails its last picture is kept as `failed-<name>`."""
    plain = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
    context = await browser.new_context(**{**plain, **options})
    query = urlencode({"folder": str(folder)}) if folder is not None else "ew=true"
    page = await context.new_page()
    page.set_default_timeout(WAIT_MS)
    found = Window(page, f"{server.url}/?{query}")
    try:
        await found.load()
        yield found
    except BaseException:
        with contextlib.suppress(Exception):
            async with asyncio.timeout(10):
                await found.picture(f"failed-{name or 'window'}")
        raise
    finally:
        async with asyncio.timeout(20):
            await context.close()
