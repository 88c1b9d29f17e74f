"""An editor in a web page: `loopline lsp --ws` with a language client of the npm registry in Chromium."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.support.lsp.browser import address, browser_page, bundle, pages
from tests.support.lsp.client import Json
from tests.support.lsp.puppet import Puppet, steps

WAIT_MS = 20_000


@pytest.fixture
async def script(tmp_path: Path) -> Path:
    return await bundle(tmp_path)


@pytest.fixture
async def page(script: Path, shared_ws: Json, root: Path, options: Json) -> AsyncIterator[Page]:
    """The editor in a page, connected, with `sums.py` open."""
    async with pages(script) as site, browser_page() as (page, watch):
        where = address(site, shared_ws["url"], shared_ws["token"], root, root / "sums.py", json.dumps(options))
        await page.goto(where)
        await expect(page.locator("#connection")).to_have_text("loopline loopline utf-16", timeout=WAIT_MS)
        yield page
        assert watch.complaints == []


async def test_a_turn_an_edit_and_a_cancel_in_a_browser(page: Page, root: Path, model: Puppet) -> None:
    code, state = page.locator("#code"), page.locator("#state")
    typed = await code.input_value() + "\n\ndef thrice(a):\n    return a * 2  # 😀 typed\n"
    await code.fill(typed)  # unsaved: only the editor has it
    edit = {"call": "edit", "args": {"path": "sums.py", "old": "a * 2  # 😀 typed", "new": "a * 3  # 😀 mended"}}
    await page.locator("#task").fill(steps({"call": "read", "args": {"path": "sums.py"}}, edit, {"text": "Mended."}))
    await page.locator("#start").click()

    await expect(state).to_have_text("completed", timeout=WAIT_MS)
    await expect(page.locator("#answer")).to_have_text("Mended.")
    assert await code.input_value() == typed.replace("a * 2  # 😀 typed", "a * 3  # 😀 mended")
    assert "😀 typed" in model.outputs[0]
    assert "thrice" not in (root / "sums.py").read_text()  # it was never saved
    kinds = await page.locator("#events li").all_text_contents()
    assert {"turn.started", "tool.finished", "call", "stages", "diff", "turn.finished"} <= set(kinds)

    await page.locator("#task").fill(steps({"hold": "browser"}))
    await page.locator("#start").click()
    await model.reached("browser")
    await expect(state).to_have_text("running", timeout=WAIT_MS)
    await page.locator("#stop").click()
    await expect(state).to_have_text("cancelled", timeout=WAIT_MS)
    await expect(page.locator("#progress")).to_have_text("end cancelled")


async def test_a_page_from_elsewhere_and_a_page_without_the_token_get_nowhere(
    script: Path, shared_ws: Json, root: Path
) -> None:
    tries = """([url, protocols]) => new Promise((done) => {
        const socket = new WebSocket(url, protocols);
        socket.onopen = () => done("open");
        socket.onerror = () => done("refused");
    })"""
    mine = ["loopline", f"token.{shared_ws['token']}"]
    async with pages(script) as site, browser_page() as (page, _):
        await page.goto(f"{site.replace('127.0.0.1', 'evil.localhost')}editor.js")
        assert await page.evaluate(tries, [shared_ws["url"], mine]) == "refused"
        await page.goto(f"{site}editor.js")
        assert await page.evaluate(tries, [shared_ws["url"], ["loopline", "token.guessed"]]) == "refused"
        logs = "".join(log.read_text() for log in (shared_ws["home"] / "state" / "loopline" / "logs").glob("lsp-*.log"))
        assert logs.count("a client was refused: Forbidden") == 1  # by us: the browser lets it
        assert logs.count("a client was refused: Unauthorized") == 1
        assert await page.evaluate(tries, [shared_ws["url"], mine]) == "open"
