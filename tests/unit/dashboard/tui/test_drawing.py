"""When things are drawn, and that foreign text is only ever text."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from textual.strip import Strip

from agent_core.telemetry import events as ev
from dashboard.tui.screens.main import TICKS_HZ, MainScreen
from dashboard.widgets.lineview import LineView
from dashboard.widgets.spans import Lazy, Page, Row
from tests.support.system.waiting import eventually
from tests.support.telemetry.recorded_feed import HOSTILE, WindowScene, recorded_feed
from tests.support.telemetry.scene import Scene
from tests.support.terminal.pictures import dashboard, screen_text, settled

SECOND_NS = 1_000_000_000


def hostile_feed() -> list[ev.Event]:
    """A turn in which every name that comes from outside is hostile."""
    window = WindowScene("h000000-1-aaaaaa", "sess_h", HOSTILE, HOSTILE, 0)
    window.model = HOSTILE
    window.connection = HOSTILE
    window.connect(HOSTILE)
    window.start_turn(f"turn {HOSTILE}")
    window.wait(5)
    window.model_call(new=100, out=50, ttft_ms=40, decode_ms=200, finish_reason=HOSTILE)
    window.run_tool(HOSTILE, 30, "error")
    call = window.begin_call(new=10)
    window.wait(10)
    window.complete(call, 10.0, status="failed", error_code=HOSTILE)
    window.emit(ev.ConnectionClosed(connection=HOSTILE, age_s=1.0, cause=HOSTILE))
    window.emit(ev.ApprovalOpened(session="sess_h", turn=window.turn, approval=HOSTILE, kind=HOSTILE))
    window.wait(5)
    return window.events


@pytest.mark.parametrize("size", [(120, 32), (50, 20)])
async def test_hostile_text_is_shown_as_text_on_every_tab(size: tuple[int, int]) -> None:
    app, feed = dashboard(hostile_feed())
    async with app.run_test(size=size) as pilot:
        screen = await settled(app, len(feed.events))
        app.desk.titles = {app.desk.turn or "": HOSTILE}
        for tab in range(6):
            await pilot.press(str(tab + 1))
            screen.panel.action_edge(tab % 2)
            screen.flush()
            await pilot.pause()
            lines = screen_text(app)
            assert all(line.isprintable() for line in lines), lines
            if size[0] > 100:
                assert any("[/foo]" in line for line in lines), "literally, not as markup"
        for strip in app.screen._compositor.render_strips(app.size):
            assert_plain(strip)
        await pilot.press("c", "c", "escape", "m", "escape", "y", "question_mark", "escape")
        assert app.is_running and app.return_value is None
        assert app.clipboard.isprintable()


def assert_plain(strip: Strip) -> None:
    for segment in strip:
        meta = segment.style.meta if segment.style is not None else {}
        assert not any(name.startswith("@") for name in meta), "text became an action"
        assert segment.style is None or segment.style.link is None


async def test_a_running_bar_grows_without_events() -> None:
    app, feed = dashboard()
    async with app.run_test(size=(120, 32)) as pilot:
        screen = await settled(app, len(feed.events))
        await pilot.pause()
        assert any("8.19 s" in line for line in screen_text(app))
        feed.now += 2 * SECOND_NS
        for _ in range(TICKS_HZ):
            screen.tick()
        await pilot.pause()
        assert any("10.19 s" in line for line in screen_text(app))
        assert any("2.85 s" in line and "approve" in line for line in screen_text(app))


async def test_paused_it_goes_on_counting_and_draws_nothing() -> None:
    app, feed = dashboard()
    async with app.run_test(size=(120, 32)) as pilot:
        screen = await settled(app, len(feed.events))
        await pilot.press("space")
        before = screen_text(app)
        one_more = ev.TurnStarted(
            source="h9", seq=1, time=feed.events[-1].time, mono_ns=1, session="s9", turn="turn_new"
        )  # fmt: skip
        feed.put(one_more)
        await eventually(lambda: app.desk.state.events == len(feed.events))
        for _ in range(3 * TICKS_HZ):
            screen.tick()
        await pilot.pause()
        assert screen_text(app) == before
        await pilot.press("space")
        await pilot.pause()
        assert app.desk.turn == "turn_new"
        assert any("Turns 7" in line for line in screen_text(app))


async def test_nothing_is_drawn_under_another_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    app, feed = dashboard()
    async with app.run_test(size=(120, 32)) as pilot:
        screen = await settled(app, len(feed.events))
        await pilot.press("question_mark")
        await pilot.pause()
        drawn: list[str] = []
        monkeypatch.setattr(MainScreen, "flush", lambda self: drawn.append("all"))
        monkeypatch.setattr(MainScreen, "flush_panel", lambda self: drawn.append("panel"))
        for _ in range(2 * TICKS_HZ):
            screen.tick()
        assert drawn == []
        await pilot.press("escape")
        await eventually(lambda: drawn != [])


async def test_the_rate_is_the_users_and_the_focused_panel_keeps_up(monkeypatch: pytest.MonkeyPatch) -> None:
    app, feed = dashboard()
    async with app.run_test(size=(120, 32)) as pilot:
        screen = await settled(app, len(feed.events))
        await pilot.pause()
        drawn: list[str] = []
        whole, panel = MainScreen.flush, MainScreen.flush_panel

        def flush(self: MainScreen) -> None:
            drawn.append("all")
            whole(self)

        def flush_panel(self: MainScreen) -> None:
            drawn.append("panel")
            panel(self)

        monkeypatch.setattr(MainScreen, "flush", flush)
        monkeypatch.setattr(MainScreen, "flush_panel", flush_panel)

        def tick_for(seconds: int) -> tuple[int, int]:
            drawn.clear()
            for _ in range(seconds * TICKS_HZ):
                screen.tick()
            return drawn.count("all"), drawn.count("panel")

        app.desk.rate = 3
        every, panels = tick_for(4)
        assert 16 <= every <= 20 and every == panels, "four times a second, the panel with the rest"
        await pilot.press("right")
        await pilot.pause()
        every, panels = tick_for(4)
        assert 16 <= every <= 20
        assert panels == 40, "ten times a second: its turn runs"
        app.desk.rate = 0
        assert tick_for(4)[0] == 2


async def test_an_idle_dashboard_draws_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = [event for event in recorded_feed() if event.turn != "turn_dates"]
    app, feed = dashboard(ended)
    async with app.run_test(size=(120, 32)):
        screen = await settled(app, len(ended))
        drawn: list[str] = []

        def flush(self: MainScreen) -> None:
            drawn.append("all")
            self._all_dirty = False

        monkeypatch.setattr(MainScreen, "flush", flush)
        for _ in range(5 * TICKS_HZ):
            screen.tick()
        assert 4 <= len(drawn) <= 6, "ages and countdowns go on"


async def test_only_rows_in_sight_are_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    painted: list[int] = []
    keys: Sequence[str] = [str(number) for number in range(100_000)]

    def paint(index: int) -> Row:
        painted.append(index)
        return Row(((f"row {index}", ""),), key=keys[index])

    app, _ = dashboard([])
    monkeypatch.setattr(app.desk, "turns_page", lambda width, now_ns: Page(rows=Lazy(keys, paint)))
    async with app.run_test(size=(120, 32)) as pilot:
        view = app.main.query_one("#turns", LineView)
        app.main.flush()
        await pilot.pause()
        assert 0 < len(set(painted)) < 40
        painted.clear()
        await pilot.press("G")
        await pilot.pause()
        assert view.cursor == "99999"
        assert len(set(painted)) < 40
        assert len(list(app.screen.query("*"))) < 40, "however long the page, the widgets stay few"


async def test_the_selection_stays_with_its_row_as_others_come() -> None:
    app, feed = dashboard()
    async with app.run_test(size=(120, 32)) as pilot:
        screen = await settled(app, len(feed.events))
        await pilot.press("down", "down")
        await eventually(lambda: (app.desk.turn, screen.turns.cursor) == ("turn_guide", "turn_guide"))
        scene = Scene(source="h9", session="sess_new")
        scene.clock.wait(600_000)
        scene.start_turn("turn_new")
        feed.put(*scene.events)
        await eventually(lambda: app.desk.state.events == len(feed.events))
        screen.flush()
        assert (app.desk.turn, screen.turns.cursor) == ("turn_guide", "turn_guide")
        await pilot.press("f")
        await eventually(lambda: app.desk.turn == "turn_new")


async def test_a_long_waterfall_of_a_running_turn_stays_at_its_end_until_one_looks_back() -> None:
    window = WindowScene("h1", "sess_w", "p", "cli", 0)
    window.start_turn("turn_long")
    for _ in range(40):
        window.model_call(new=10, out=5, ttft_ms=10, decode_ms=10)
    app, feed = dashboard(window.events)
    async with app.run_test(size=(120, 24)) as pilot:
        screen = await settled(app, len(feed.events))
        await pilot.pause()
        await pilot.pause()
        assert any("call 40" in line for line in screen_text(app))

        async def one_more() -> None:
            seen = len(window.events)
            window.model_call(new=10, out=5, ttft_ms=10, decode_ms=10)
            feed.put(*window.events[seen:])
            feed.now = window.clock.wall_ns()
            await eventually(lambda: app.desk.state.events == len(feed.events))
            screen.flush()
            await pilot.pause()

        await one_more()
        assert any("call 41" in line for line in screen_text(app))
        await pilot.press("right", "g")
        await one_more()
        assert screen.panel.cursor == "sess_w_call_1"
        assert not any("call 42" in line for line in screen_text(app))


async def test_a_narrow_terminal_shows_the_list_or_the_panel() -> None:
    app, feed = dashboard()
    async with app.run_test(size=(50, 24)) as pilot:
        screen = await settled(app, len(feed.events))
        await pilot.pause()
        assert screen.query_one("#left").display and not screen.query_one("#right").display
        await pilot.press("enter")
        await pilot.pause()
        assert not screen.query_one("#left").display and screen.panel.has_focus
        await pilot.press("2")
        await pilot.pause()
        assert any("[2 Tok]" in line for line in screen_text(app))
        await pilot.press("escape")
        await pilot.pause()
        assert screen.query_one("#left").display and screen.turns.has_focus
        await pilot.resize_terminal(120, 30)
        await pilot.pause()
        assert screen.query_one("#left").display and screen.query_one("#right").display


async def test_the_empty_state_says_what_to_run() -> None:
    app, _ = dashboard([])
    async with app.run_test(size=(100, 28)) as pilot:
        app.main.flush()
        await pilot.pause()
        text = "\n".join(screen_text(app))
        assert "loopline demo" in text and "loopline run" in text
        assert "$" not in text and " 0 %" not in text, "nothing is invented"
        for key in ("1", "2", "3", "4", "5", "6", "right", "j", "G", "c", "m", "n", "y", "x", "f", "escape"):
            await pilot.press(key)
        assert app.is_running


async def test_a_feed_that_fails_says_so_and_the_app_goes_on() -> None:
    app, feed = dashboard()
    feed.notices = ["/state/telemetry/x.db: not a telemetry journal [/foo]"]
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(app, len(feed.events))
        await pilot.pause()
        text = screen_text(app)
        assert any("✗ /state/telemetry/x.db: not a telemetry journal [/foo]" in line for line in text)
        assert any("● live" in line for line in text)


async def test_another_subject_starts_at_its_own_beginning() -> None:
    app, feed = dashboard()
    async with app.run_test(size=(120, 16)) as pilot:
        screen = await settled(app, len(feed.events))
        await pilot.press("G", "right", "G")
        await pilot.pause()
        assert screen.panel.scroll_offset.y > 0
        await pilot.press("left", "up", "up", "right")
        await pilot.pause()
        assert screen.panel.scroll_offset.y == 0


async def test_connections_of_a_process_that_ended_are_shown_as_lost() -> None:
    app, feed = dashboard()
    async with app.run_test(size=(120, 32)) as pilot:
        screen = await settled(app, len(feed.events))
        feed.put(ended=["h3fa29c-4711-9c2e1d", "h3fa29c-5120-aa07b2"])
        await eventually(lambda: app.desk.state.connections.rows["conn_b2"].state == "lost")
        await pilot.press("4")
        screen.flush()
        await pilot.pause()
        assert any("lost: its process ended" in line for line in screen_text(app))


async def test_events_that_come_again_are_taken_once() -> None:
    app, feed = dashboard()
    async with app.run_test(size=(120, 32)):
        await settled(app, len(feed.events))
        new = ev.TurnStarted(source="h9", seq=1, time=feed.events[-1].time, mono_ns=1, turn="turn_new")
        feed.put(*[msgspec.structs.replace(event) for event in feed.events], new)
        await eventually(lambda: "turn_new" in app.desk.state.rollup.turns)
        assert app.desk.state.events == len(recorded_feed()) + 1
