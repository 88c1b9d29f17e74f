"""Debian's Chromium under Playwright, and axe-core."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request, async_playwright

from tests.support.suite.parts import lacking, program

CHROMIUM = os.environ.get("LOOPLINE_CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
AXE = "axe-core@4.14.1"
ROOT = Path(__file__).resolve().parents[3]
CACHE = ROOT / ".cache"
SCREENS = Path(os.environ.get("LOOPLINE_SCREENSHOTS", CACHE / "screenshots"))
"""Where screenshots are kept, for somebody to look at."""
WAIT_MS = 15_000


@contextlib.asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    if not Path(CHROMIUM).exists():
        lacking("chromium", f"no program at {CHROMIUM}")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        try:
            yield browser
        finally:
            await browser.close()


def axe_source() -> str:
    """axe-core's script, fetched once with npm and kept in the cache."""
    kept = CACHE / "axe" / f"{AXE.replace('@', '-')}.js"
    if not kept.exists():
        npm = program("npm")
        kept.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [npm, "pack", AXE, "--silent"], cwd=kept.parent, capture_output=True, text=True, timeout=60
        )
        if done.returncode:
            lacking("registries", f"npm could not fetch {AXE}")
        with tarfile.open(kept.parent / done.stdout.strip().splitlines()[-1]) as archive:
            script = archive.extractfile("package/axe.min.js")
            assert script is not None
            kept.write_bytes(script.read())
    return kept.read_text()


class Watch:
    """A context whose pages may not complain: errors of scripts, refused loads and blocked content are kept."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.complaints: list[str] = []

    async def page(self) -> Page:
        page = await self.context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("requestfailed", self._failed)
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        return page

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"console {message.type}: {message.text}")

    def _failed(self, request: Request) -> None:
        # a page that is left gives up what it was loading, and a shared worker's script is loaded by the worker
        if request.failure != "net::ERR_ABORTED":
            self.complaints.append(f"failed: {request.url} {request.failure}")


async def signed_in(browser: Browser, url: str, secret: str, **options: object) -> Watch:
    """A browser of its own, signed in with a token (a test of signing in does it by the form)."""
    context = await browser.new_context(**options)  # type: ignore[arg-type]
    answer = await context.request.post(f"{url}/login", form={"token": secret}, max_redirects=0)
    assert answer.status == 303
    return Watch(context)
