"""The session view of the extension, found by what its page promises to keep (the comment in `src/webview/main.ts`)."""

from __future__ import annotations

from playwright.async_api import Frame, Locator, expect

from tests.support.editors.vscode import Window
from tests.support.web.browser import axe_source

OPEN = "Loopline: Open Session View"


class View:
    """What a person sees of a session, and does in it."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.composer = frame.locator("#composer")
        self.log = frame.locator("#transcript")
        self.host = frame.locator("#host")
        self.changes = frame.locator("#changes")
        self.sessions = frame.locator("#sessions button[data-session]")

    def items(self, kind: str) -> Locator:
        """`user`, `text`, `tool`, `approval`, `notice` or `end`."""
        return self.log.locator(f'article.item[data-kind="{kind}"]')

    def tools(self, name: str) -> Locator:
        return self.log.locator(f'article.item[data-kind="tool"][data-name="{name}"]')

    def approvals(self, decision: str = "waiting") -> Locator:
        return self.log.locator(f'[data-approval][data-decision="{decision}"]')

    def ends(self, status: str | None = None) -> Locator:
        wanted = f'[data-status="{status}"]' if status is not None else ""
        return self.log.locator(f".end{wanted}")

    def number(self, name: str) -> Locator:
        """`rate`, `ttft`, `cached`, `reuse` or `calls`."""
        return self.frame.locator(f'#live [data-number="{name}"]')

    def button(self, name: str) -> Locator:
        """The first button of that name, or that says it to those who listen."""
        return self.frame.get_by_role("button", name=name, exact=True).first

    async def say(self, text: str) -> None:
        """Write into the composer and send it with the keyboard."""
        await self.composer.fill(text)
        await self.composer.press("Enter")

    async def violations(self) -> list[str]:
        """What axe finds to be wrong, seriously, with the page as it is."""
        await self.frame.evaluate(axe_source())
        found = await self.frame.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['id']}: {one['nodes'][0]['html'][:200]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]

    async def answer(self, button: str) -> None:
        """Answer the first approval that waits by one of its buttons."""
        waiting = self.approvals().first
        await expect(waiting).to_be_visible()
        await waiting.get_by_role("button", name=button, exact=True).click()


async def session_view(window: Window) -> View:
    """The view, brought up by its command, once its server runs."""
    view = await opened_view(window)
    await expect(view.frame.locator("#send")).to_be_enabled()
    return view


async def opened_view(window: Window) -> View:
    """The view, whatever the server does."""
    await window.command(OPEN)
    view = View(await window.view())
    await expect(view.composer).to_be_visible()
    return view
