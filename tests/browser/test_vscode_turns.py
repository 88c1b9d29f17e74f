"""Turns in the real editor: streamed words, live numbers, stop, words in between, a reload in the middle."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.support.editors.vscode import CodeServer, window
from tests.support.editors.vscode_model import StreamingPuppet
from tests.support.editors.vscode_scenes import small_project
from tests.support.editors.vscode_view import session_view
from tests.support.lsp.puppet import steps

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("nothing_asked"),
]

WORDS = " ".join(f"word-{number}" for number in range(120))
NUMBERS = re.compile(r"[\d,]+(\.\d+)? tok/s · [\d,.]+ m?s · (\d+ %|–)")


async def test_words_and_numbers_come_while_the_model_speaks(
    browser: Browser, vscode: CodeServer, model: StreamingPuppet, tmp_path: Path
) -> None:
    async with window(browser, vscode, small_project(tmp_path), "streaming") as editor:
        view = await session_view(editor)
        await expect(editor.status()).to_contain_text("loopline")
        await view.say(
            steps({"call": "read", "args": {"path": "sums.py"}}, {"stream": f"Looking. {WORDS}", "hold": "half"})
        )
        text = view.items("text").last
        await expect(text).to_contain_text("word-2 ")
        await model.reached("half")
        await expect(text).to_contain_text("word-50 ")
        await expect(text).to_have_attribute("aria-busy", "true")
        assert "word-119" not in await text.inner_text()
        await expect(editor.status()).to_contain_text(NUMBERS)
        await expect(view.number("reuse")).to_contain_text("reused")
        await editor.picture("streaming")
        await expect(view.tools("read")).to_have_attribute("data-status", "ok")

        model.release("half")
        await expect(view.ends("completed")).to_be_visible()
        await expect(text).to_contain_text("word-119")
        await expect(view.number("calls")).to_contain_text("2 calls")
        await expect(editor.status()).not_to_contain_text("tok/s")
        await editor.status().click()
        for stage in ("inference", "tools", "overhead", "approval", "other"):
            await expect(view.frame.locator("#breakdown")).to_contain_text(stage)
        await expect(view.frame.locator('#breakdown [data-stage="inference"]').first).to_be_visible()
        await expect(view.frame.locator("#breakdown tr[data-call]")).to_have_count(2)
        await editor.picture("breakdown")


async def test_stop_ends_the_turn_at_once_and_what_was_said_stays(
    browser: Browser, vscode: CodeServer, model: StreamingPuppet, tmp_path: Path
) -> None:
    async with window(browser, vscode, small_project(tmp_path), "stop") as editor:
        view = await session_view(editor)
        await view.say(steps({"stream": WORDS, "hold": "half"}))
        await model.reached("half")
        await expect(view.frame.locator("#stop")).to_be_visible()
        async with asyncio.timeout(20):
            await view.composer.press("Escape")
            await view.composer.press("Escape")
            await expect(view.ends("cancelled")).to_be_visible()
        await expect(view.items("text").first).to_contain_text("word-50 ")
        await expect(editor.status()).not_to_contain_text("tok/s")
        await expect(view.frame.locator("#send")).to_have_text("Send")

        # a running command goes with its turn
        await view.say(steps({"call": "shell", "args": {"command": "echo begun > begun; sleep 300"}}))
        await expect(view.tools("shell")).to_have_attribute("data-status", "running")
        await editor.command("Loopline: Stop the Turn")
        await expect(view.ends("cancelled")).to_have_count(2)
        await expect(view.tools("shell")).to_have_attribute("data-status", "cancelled")


async def test_words_in_between_are_steered_or_queued(
    browser: Browser, vscode: CodeServer, model: StreamingPuppet, tmp_path: Path
) -> None:
    async with window(browser, vscode, small_project(tmp_path), "steer") as editor:
        view = await session_view(editor)
        await view.say(steps({"hold": "thinking", "text": "first"}))
        await model.reached("thinking")
        await expect(view.frame.locator("#stop")).to_be_visible()
        await view.composer.fill("then say goodbye")
        await view.composer.press("Alt+Enter")
        await view.say("say it in French")
        await expect(view.items("user")).to_have_count(3)
        model.release("thinking")
        await expect(view.ends("completed")).to_have_count(2)
        assert any("say it in French" in text for text in model.heard)
        assert any("then say goodbye" in text for text in model.heard)


async def test_a_window_reloaded_in_mid_turn_finds_the_turn_again(
    browser: Browser, vscode: CodeServer, model: StreamingPuppet, tmp_path: Path
) -> None:
    async with window(browser, vscode, small_project(tmp_path), "reload") as editor:
        view = await session_view(editor)
        await view.say(
            steps({"call": "read", "args": {"path": "sums.py"}}, {"stream": f"Looking. {WORDS}", "hold": "half"})
        )
        await model.reached("half")
        await expect(view.items("text").last).to_contain_text("word-50 ")

        await editor.reload()
        view = await session_view(editor)
        await expect(view.frame.locator("#stop")).to_be_visible()
        await expect(view.tools("read")).to_be_visible()
        await expect(view.items("text").last).to_contain_text("word-50 ")
        await editor.picture("reloaded")
        model.release("half")
        await expect(view.ends("completed")).to_be_visible()
        await expect(view.items("text").last).to_contain_text("word-119")
        assert len([text for text in model.heard if WORDS[:30] in text]) == 1
