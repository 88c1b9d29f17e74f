"""The dashboard in a real browser, against a real process that follows journals as they are written."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.support.web.browser import SCREENS, axe_source, chromium, signed_in
from tests.support.web.running import WebProcess, web_process
from tests.support.web.scenes import LiveAgent, write_history

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(180)]

PAGES = {
    "now": "/",
    "trends": "/trends?range=30d",
    "trends-split": "/trends?range=30d&by=transport",
    "reuse": "/reuse?range=30d",
    "errors": "/errors?range=30d",
    "settings": "/settings",
}

FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(state_home: Path) -> AsyncIterator[WebProcess]:
    """With a history that is read before the first test looks."""
    turns = await asyncio.to_thread(write_history, state_home / "loopline")
    async with web_process(state_home) as process:
        async with asyncio.timeout(30):
            while len((await ask(process, "/api/turns"))["turns"]) < turns:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        yield process


@pytest_asyncio.fixture(loop_scope="module")
async def agent(state_home: Path, request: pytest.FixtureRequest) -> AsyncIterator[LiveAgent]:
    number = sum(request.node.name.encode()) * 7
    found = await asyncio.to_thread(LiveAgent, state_home / "loopline", number)
    yield found
    await asyncio.to_thread(found.close)


async def ask(web: WebProcess, path: str) -> Any:
    headers = {"authorization": f"Bearer {web.ready['secret']}"}
    async with httpx.AsyncClient(base_url=web.url, headers=headers, trust_env=False) as client:
        return (await client.get(path)).json()


async def is_live(page: Page) -> None:
    await expect(page.locator("#live")).to_have_attribute("data-state", "live")


async def fits(page: Page) -> None:
    """Until nothing is wider than the window; charts follow it a moment later."""
    async with asyncio.timeout(10):
        while not await page.evaluate(FITS):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def longest_turn(web: WebProcess) -> str:
    turns = (await ask(web, "/api/turns"))["turns"]
    return str(max((turn for turn in turns if turn["status"] == "completed"), key=lambda turn: turn["calls"])["turn"])


async def test_the_one_time_link_opens_the_dashboard_once(browser: Browser, state_home: Path) -> None:
    async with web_process(state_home / "own") as own:
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(own.ready["link"])
        await page.wait_for_url(f"{own.url}/")
        await is_live(page)
        await page.click("text=Sign out")
        await page.fill("input[name=token]", own.ready["secret"])
        await page.click("main button")
        await page.wait_for_url(f"{own.url}/")
        assert await page.evaluate("document.cookie") == ""
        assert await page.locator(".empty code").first.inner_text() == "loopline demo"
        other = await (await browser.new_context()).new_page()
        await other.goto(own.ready["link"])
        await expect(other.locator("[role=alert]")).to_contain_text("used already")


async def test_every_page_in_both_themes_and_on_a_phone(browser: Browser, web: WebProcess, agent: LiveAgent) -> None:
    await asyncio.to_thread(agent.start_turn)
    await asyncio.to_thread(agent.start_call)
    pages = {**PAGES, "turn": f"/turns/{await longest_turn(web)}"}
    SCREENS.mkdir(parents=True, exist_ok=True)
    watch = await signed_in(browser, web.url, web.ready["secret"], viewport={"width": 1360, "height": 900})
    page = await watch.page()
    for name, path in pages.items():
        await page.goto(f"{web.url}{path}")
        await is_live(page)
        for theme, width, height in (
            ("light", 1360, 900),
            ("dark", 1360, 900),
            ("dark", 390, 844),
            ("light", 390, 844),
        ):
            await page.set_viewport_size({"width": width, "height": height})
            await page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            await fits(page)
            await page.screenshot(path=SCREENS / f"{name}-{theme}-{width}.png", full_page=True)
    assert watch.complaints == []


async def test_no_serious_finding_of_axe(browser: Browser, web: WebProcess) -> None:
    script = axe_source()
    # Playwright's own script is no part of the page; its policy is checked elsewhere
    watch = await signed_in(browser, web.url, web.ready["secret"], bypass_csp=True)
    page = await watch.page()
    found: list[str] = []
    paths = {**PAGES, "turn": f"/turns/{await longest_turn(web)}", "none": "/turns/none", "login": "/login"}
    for name, path in paths.items():
        await page.emulate_media(color_scheme="light")
        await page.goto(f"{web.url}{path}")
        await page.add_script_tag(content=script)
        for theme, rules in (("light", "undefined"), ("dark", "['color-contrast']")):
            await page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            result = await page.evaluate(f"axe.run(document, {{resultTypes: ['violations'], runOnly: {rules}}})")
            found += [
                f"{name} {theme}: {violation['id']}: {violation['help']}: {violation['nodes'][0]['html'][:200]}"
                for violation in result["violations"]
                if violation["impact"] in ("serious", "critical")
            ]
    assert found == []


async def test_a_turn_appears_grows_and_ends_without_a_reload(
    browser: Browser, web: WebProcess, agent: LiveAgent
) -> None:
    watch = await signed_in(browser, web.url, web.ready["secret"])
    page = await watch.page()
    await page.goto(web.url)
    await is_live(page)
    await page.evaluate("window.here = true")
    turn = await asyncio.to_thread(agent.start_turn)
    await asyncio.to_thread(agent.start_call)
    row = page.locator(f'#running tr[data-turn="{turn}"]')
    await expect(row).to_be_visible()
    await expect(row.locator('[data-f="stage_word"]')).to_have_text("inference")
    await expect(row.locator('[data-f="ttft"]')).to_have_text(re.compile(r"^\d+ ms$"))
    first = await row.locator('[data-f="duration"]').inner_text()
    await expect(row.locator('[data-f="duration"]')).not_to_have_text(first)  # without an event
    for step in range(1, 4):
        await asyncio.to_thread(agent.progress, 400 * step, 800.0)
        await asyncio.sleep(0.25)
    await expect(row.locator('[data-f="rate_text"]')).to_contain_text("≈")
    await expect(page.locator('[data-total="rate_text"]')).to_contain_text("tok/s")
    await asyncio.to_thread(agent.end_call)
    await asyncio.to_thread(agent.start_tool)
    await expect(row.locator('[data-f="stage_word"]')).to_have_text("tools")
    await asyncio.to_thread(agent.end_tool)
    await asyncio.to_thread(agent.start_call)
    await asyncio.to_thread(agent.end_call, error_code="server_error")
    await expect(page.locator("#errors li").first).to_contain_text("server_error")
    await asyncio.to_thread(agent.end_turn, "failed")
    await expect(row).to_have_count(0)
    ended = page.locator(f'#ended tr[data-turn="{turn}"]')
    await expect(ended).to_have_count(1)
    await expect(ended.locator('[data-f="stage_word"]')).to_have_text("failed")
    await expect(page.locator("#announce")).to_contain_text("failed")
    assert await page.evaluate("window.here") is True
    assert watch.complaints == []


async def test_two_tabs_share_one_stream(browser: Browser, web: WebProcess, agent: LiveAgent) -> None:
    before = (await ask(web, "/api/health"))["streams"]
    watch = await signed_in(browser, web.url, web.ready["secret"])
    first, second = await watch.page(), await watch.page()
    for page in (first, second):
        await page.goto(web.url)
        await is_live(page)
    assert (await ask(web, "/api/health"))["streams"] == before + 1
    turn = await asyncio.to_thread(agent.start_turn)
    for page in (first, second):
        await expect(page.locator(f'#running tr[data-turn="{turn}"]')).to_be_visible()
    await first.close()
    await asyncio.to_thread(agent.end_turn)
    await expect(second.locator(f'#ended tr[data-turn="{turn}"]')).to_be_visible()
    await watch.context.close()
    assert watch.complaints == []


async def test_after_a_restart_of_the_hub_nothing_is_lost_or_doubled(browser: Browser, tmp_path: Path) -> None:
    agent = await asyncio.to_thread(LiveAgent, tmp_path / "loopline", 7)
    try:
        async with web_process(tmp_path) as first:
            port = int(first.url.rpartition(":")[2])
            watch = await signed_in(browser, first.url, first.ready["secret"])
            page = await watch.page()
            await page.goto(first.url)
            await is_live(page)
            turns = [await asyncio.to_thread(agent.whole_turn)]
            running = await asyncio.to_thread(agent.start_turn)
            await expect(page.locator(f'#ended tr[data-turn="{turns[0]}"]')).to_be_visible()
            await expect(page.locator(f'#running tr[data-turn="{running}"]')).to_be_visible()
            assert await first.stop() == 0
        await expect(page.locator("#live")).not_to_have_attribute("data-state", "live")
        await asyncio.to_thread(agent.start_call)
        await asyncio.to_thread(agent.end_call)
        turns += [await asyncio.to_thread(agent.end_turn), await asyncio.to_thread(agent.whole_turn)]
        async with web_process(tmp_path, port=port):
            await is_live(page)
            turns.append(await asyncio.to_thread(agent.whole_turn))
            for turn in turns:
                await expect(page.locator(f'#ended tr[data-turn="{turn}"]')).to_have_count(1)
            await expect(page.locator("#running tbody tr")).to_have_count(0)
            await expect(page.locator("#ended tbody tr")).to_have_count(len(turns))
        offline = [one for one in watch.complaints if "ERR_CONNECTION" not in one and "ERR_INCOMPLETE" not in one]
        assert [one for one in offline if not one.startswith("console error: Failed to load resource")] == []
    finally:
        await asyncio.to_thread(agent.close)


async def test_pages_are_useful_without_scripts(browser: Browser, web: WebProcess) -> None:
    watch = await signed_in(browser, web.url, web.ready["secret"], java_script_enabled=False)
    page = await watch.page()
    turn = await longest_turn(web)
    for path, seen in (
        ("/", "#ended"), ("/trends?range=30d", ".multiples table td[data-y]"), ("/reuse?range=30d", ".legend"),
        ("/errors?range=30d", "table.errors"), ("/settings", ".health"), (f"/turns/{turn}", ".bars .line"),
    ):  # fmt: skip
        await page.goto(f"{web.url}{path}")
        await expect(page.locator(seen).first).to_be_visible()
        await expect(page.locator("#live .word")).to_have_text("not live")
        await expect(page.locator("#pause")).to_be_hidden()
    await page.goto(f"{web.url}/trends?range=30d")
    await page.select_option("select[name=by]", "transport")
    await page.click("form.filters button")
    await expect(page.locator("#groups-title")).to_have_text("By transport")
    await page.click("text=Sign out")
    await expect(page.locator("h1")).to_have_text("Sign in")


async def test_a_turn_is_walked_by_key_and_grows_by_itself(browser: Browser, web: WebProcess, agent: LiveAgent) -> None:
    turn = await asyncio.to_thread(agent.start_turn)
    await asyncio.to_thread(agent.start_call)
    await asyncio.to_thread(agent.end_call)
    await asyncio.to_thread(agent.start_tool)
    watch = await signed_in(browser, web.url, web.ready["secret"])
    page = await watch.page()
    await page.goto(f"{web.url}/turns/{turn}")
    await is_live(page)
    lines = page.locator("#fall .bars > li")
    await expect(lines).to_have_count(2)
    bar = lines.nth(1).locator("rect.part")
    width = await bar.get_attribute("width")
    await expect(bar).not_to_have_attribute("width", str(width))  # without an event
    await lines.nth(0).focus()
    await page.keyboard.press("ArrowDown")
    assert await page.evaluate("document.activeElement.dataset.kind") == "tool"
    await page.keyboard.press("Home")
    assert await page.evaluate("document.activeElement.dataset.kind") == "call"
    await asyncio.to_thread(agent.end_tool)
    await asyncio.to_thread(agent.start_call)
    await expect(lines).to_have_count(3)
    assert await page.evaluate("document.activeElement.dataset.kind") == "call", "a refresh keeps the focus"
    await asyncio.to_thread(agent.end_call)
    await asyncio.to_thread(agent.end_turn)
    await expect(page.locator(".turn-head .stage")).to_contain_text("completed")
    assert watch.complaints == []


async def test_two_turns_are_compared(browser: Browser, web: WebProcess) -> None:
    watch = await signed_in(browser, web.url, web.ready["secret"])
    page = await watch.page()
    await page.goto(f"{web.url}/turns/{await longest_turn(web)}")
    await page.click("text=Compare >> nth=-1")
    await expect(page.locator("table.compare tbody tr").first).to_be_visible()
    assert "with=" in page.url
    assert watch.complaints == []


async def test_filters_change_the_page_and_the_address(browser: Browser, web: WebProcess) -> None:
    watch = await signed_in(browser, web.url, web.ready["secret"])
    page = await watch.page()
    await page.goto(f"{web.url}/trends?range=30d")
    await page.wait_for_selector(".u-wrap")
    await page.evaluate("window.here = true")
    await page.select_option("select[name=by]", "transport")
    await expect(page.locator("#groups-title")).to_have_text("By transport")
    await page.wait_for_url("**by=transport*")
    assert "range=30d" in page.url
    assert await page.evaluate("window.here") is True, "only the content is fetched"
    await expect(page.locator(".u-wrap").first).to_be_visible()
    await expect(page.locator("figure.chart details[open]")).to_have_count(0)
    await page.go_back()
    await expect(page.locator("#groups-title")).to_have_text("By model")
    assert watch.complaints == []


async def test_pause_theme_and_keys(browser: Browser, web: WebProcess, agent: LiveAgent) -> None:
    watch = await signed_in(browser, web.url, web.ready["secret"], color_scheme="light")
    page = await watch.page()
    await page.goto(web.url)
    await is_live(page)
    await page.click("#pause")
    await expect(page.locator("#live")).to_have_attribute("data-state", "paused")
    turn = await asyncio.to_thread(agent.whole_turn)
    row = page.locator(f'tr[data-turn="{turn}"]')
    await expect(page.locator("#pause")).to_have_text("Go on")
    assert await row.count() == 0
    await page.click("#pause")
    await expect(row).to_have_count(1)
    light = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    await page.locator("body").press("t")
    dark = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    await page.reload()
    assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == dark, "and from the first paint on"
    await page.locator("body").press("2")
    await page.wait_for_url("**/trends")
    assert watch.complaints == []


async def test_a_revoked_person_sees_that_at_once(browser: Browser, web: WebProcess) -> None:
    watch = await signed_in(browser, web.url, web.ready["secret"])
    page = await watch.page()
    await page.goto(f"{web.url}/settings")
    await page.fill("input[name=name]", "guest")
    await page.fill("input[name=team]", "local")
    await page.click("text=Make a token")
    token = await page.locator(".token code").inner_text()
    guest = await signed_in(browser, web.url, token)
    theirs = await guest.page()
    await theirs.goto(web.url)
    await is_live(theirs)
    await page.click("[aria-label='Revoke guest']")
    await expect(theirs.locator("#live")).to_have_attribute("data-state", "signed-out")
    await theirs.reload()
    await expect(theirs.locator("h1")).to_have_text("Sign in")
    assert watch.complaints == []


async def test_scripts_in_names_stay_names(browser: Browser, web: WebProcess, state_home: Path) -> None:
    name = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    agent = await asyncio.to_thread(LiveAgent, state_home / "loopline", 4711, project=name)
    try:
        watch = await signed_in(browser, web.url, web.ready["secret"])
        page = await watch.page()
        await page.goto(web.url)
        await is_live(page)
        turn = await asyncio.to_thread(agent.start_turn)
        await asyncio.to_thread(agent.start_call, name)
        row = page.locator(f'#running tr[data-turn="{turn}"]')
        await expect(row).to_contain_text("<img src=x")
        await asyncio.to_thread(agent.end_call, error_code=name)
        await asyncio.to_thread(agent.end_turn, "failed")
        await expect(page.locator("#errors li").first).to_contain_text("<img src=x")
        for path in ("/", f"/turns/{turn}", "/trends?range=1h&by=project", "/errors", "/reuse?range=1h"):
            await page.goto(f"{web.url}{path}")
            assert await page.locator("main img, main script").count() == 0
        assert watch.complaints == []
    finally:
        await asyncio.to_thread(agent.close)
