"""What goes along with a task, which session it goes to, and a transcript that grew long."""

from __future__ import annotations

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

MANY, AT_ONCE = 5_000, 250
FRAME_MS = 160.0
"""What the quicker quarter of the frames may take while the wheel turns, ten times what a screen gives them: the others
may wait for a busy machine. That only what is near is drawn is told by the number of nodes."""
SCROLL = """async () => {
    const log = document.getElementById('transcript');
    async function frames(act) {
        const took = [];
        let last = performance.now();
        for (let step = 0; step < 60; step++) {
            act(step);
            await new Promise(requestAnimationFrame);
            const now = performance.now();
            took.push(now - last);
            last = now;
        }
        return took.sort((a, b) => a - b);
    }
    const wheel = await frames(() => { log.scrollTop -= 240; });
    const far = await frames((step) => { log.scrollTop = log.scrollHeight * ((step * 37) % 60) / 60; });
    return { wheel: wheel[15], far: far[15], nodes: document.querySelectorAll('*').length };
}"""


async def test_mentions_and_the_selection_go_with_the_task_into_the_session_that_is_shown(
    browser: Browser, vscode: CodeServer, model: StreamingPuppet, tmp_path: Path
) -> None:
    async with window(browser, vscode, small_project(tmp_path), "context") as editor:
        view = await session_view(editor)
        await editor.open("sums.py")
        await editor.go_to_line(2)
        await editor.page.keyboard.press("Shift+End")
        await expect(view.frame.locator("#context")).to_contain_text("sums.py:2")

        await view.composer.press_sequentially("what is @oth")
        option = view.frame.locator('#mentions [role="option"]', has_text="other.py").first
        await expect(option).to_be_visible()
        await editor.picture("mention")
        await view.composer.press("Enter")
        await expect(view.composer).to_have_value("what is @other.py ")
        await view.composer.press("Enter")
        await expect(view.ends("completed")).to_be_visible()
        assert "other.py" in model.heard[-1] and "return a - b" in model.heard[-1]

        # a selection is gone with its document
        await editor.command("View: Close Editor")
        await expect(view.frame.locator("#context")).to_be_hidden()
        await view.frame.locator("#new-session").click()
        await expect(view.items("user")).to_have_count(0)
        await view.say("the second session")
        await expect(view.ends("completed")).to_be_visible()
        assert "return a - b" not in model.heard[-1]

        await view.frame.locator("#sessions-button").click()
        await expect(view.sessions).to_have_count(2)
        await editor.picture("sessions")
        await view.frame.locator("#sessions button", has_text="what is").click()
        await expect(view.items("user")).to_contain_text("what is @other.py")


async def test_a_transcript_of_5_000_items_stays_smooth(
    browser: Browser, vscode: CodeServer, model: StreamingPuppet, tmp_path: Path
) -> None:
    async with window(browser, vscode, small_project(tmp_path), "long") as editor:
        view = await session_view(editor)
        reads = [["read", {"path": "other.py"}]] * AT_ONCE
        await view.say(steps(*({"calls": reads} for _ in range(MANY // AT_ONCE)), {"text": "All read."}))
        await expect(view.ends("completed")).to_be_visible(timeout=120_000)
        await expect(view.items("text").last).to_contain_text("All read.")
        found = await view.frame.evaluate(SCROLL)
        assert found["wheel"] < FRAME_MS, found
        assert found["nodes"] < 5_000, found
