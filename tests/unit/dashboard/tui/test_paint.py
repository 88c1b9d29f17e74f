"""The painters: true time axes, columns that give way, lines that never exceed their paper."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color
from textual.theme import Theme

from dashboard.state.fold import Header, State
from dashboard.state.waterfall import Bar
from dashboard.tui.desk import TABS, Desk
from dashboard.widgets.paint import header, turns, waterfall
from dashboard.widgets.paint.tables import Column, table
from dashboard.widgets.palette import DARK, LIGHT, PALETTES, THEMES, palette_of
from dashboard.widgets.spans import Line, Look, crop, left, line_width, right, text_of, wrapped
from tests.support.telemetry.recorded_feed import now_after, recorded_feed

FEED = recorded_feed()
NOW_NS = now_after(FEED)
STATE = State().apply_all(FEED)
MS = 1_000_000


def look(width: int, turn: str = "turn_dates") -> Look:
    return Look(state=STATE, turn=turn, now_ns=NOW_NS, width=width)


def bar(start: int, end: int, ttft: int | None = None, *, running: bool = False) -> Bar:
    middle = start + (end - start) // 3
    return Bar(
        kind="call", id="c", name="call 1", start_ns=start * MS, end_ns=end * MS, running=running,
        parts=(("api_overhead", start * MS, middle * MS), ("inference", middle * MS, end * MS)),
        ttft_ns=None if ttft is None else ttft * MS,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        (bar(0, 1000), "╱╱╱███████" + " " * 0),
        (bar(500, 1000), "     ╱╱███"),
        (bar(990, 991), "         █"),
        (bar(0, 1), "█         "),
        (bar(0, 200), "╱█        "),
        (bar(0, 1000, 500), "╱╱╱██┃████"),
        (bar(0, 1000, 0), "╱┃╱███████"),
        (bar(0, 600, 590, running=True), "╱╱██┃›    "),
    ],
)
def test_bars_stand_at_their_instants(drawn: Bar, text: str) -> None:
    assert text_of(tuple(waterfall.bar_spans(drawn, waterfall.Axis(1000 * MS, 10)))) == text


@given(st.integers(1, 10**13), st.integers(10, 200), st.data())
def test_a_bar_has_the_width_of_the_axis_and_at_least_one_cell(span_ns: int, cells: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, span_ns - 1))
    end = data.draw(st.integers(start, span_ns))
    one = Bar(
        kind="tool", id="t", name="t", start_ns=start, end_ns=end, running=False,
        parts=(("client_tool", start, end),) if end > start else (),
    )  # fmt: skip
    text = text_of(tuple(waterfall.bar_spans(one, waterfall.Axis(span_ns, cells))))
    assert len(text) == cells
    assert text.strip() and set(text.strip()) == {"▒"}
    assert abs(len(text) - len(text.lstrip()) - start * cells / span_ns) <= 1


@given(st.integers(1, 10**14), st.integers(10, 200))
def test_axis_labels_are_round_in_place_and_apart(span_ns: int, cells: int) -> None:
    labels = waterfall.axis_labels(waterfall.Axis(span_ns, cells))
    assert len(labels) <= cells
    assert labels.startswith("0 s")
    assert len(labels.split("  ")) <= cells


def test_the_axis_says_seconds_where_there_are_some() -> None:
    assert waterfall.axis_labels(waterfall.Axis(8_000 * MS, 60)).split() == [
        "0",
        "s",
        "1",
        "s",
        "2",
        "s",
        "3",
        "s",
        "4",
        "s",
        "5",
        "s",
        "6",
        "s",
        "7",
        "s",
    ]
    assert "1.5 s" in waterfall.axis_labels(waterfall.Axis(2_000 * MS, 40))
    assert waterfall.axis_labels(waterfall.Axis(400_000, 40)).split("  ")[0] == "0 s"


@pytest.mark.parametrize("turn", [line.turn for line in STATE.turn_lines(NOW_NS)])
@pytest.mark.parametrize("tab", range(len(TABS)))
def test_no_line_is_wider_than_its_paper(tab: int, turn: str) -> None:
    for width in (20, 30, 46, 52, 78, 86, 118, 160):
        page = TABS[tab].paint(look(width, turn))
        for row in page.rows:
            for line in row.detail:
                assert line_width(line) <= width, (width, text_of(line))
        if width >= 46:
            for line in (*page.fixed, *(row.line for row in page.rows)):
                if tab != 5:
                    assert line_width(line) <= width, (width, text_of(line))


@given(st.integers(18, 60))
def test_turns_have_two_lines_of_exactly_the_width(width: int) -> None:
    for line in STATE.turn_lines(NOW_NS):
        for drawn in turns.paint(look(width), line):
            assert line_width(drawn) <= width
        assert line_width(turns.paint(look(width), line)[0]) == width


def test_the_stages_are_said_in_words_and_glyphs_and_add_up() -> None:
    page = TABS[0].paint(look(100))
    said = " ".join(text_of(line) for line in page.fixed[1:3])
    for word in ("turn 8.19 s =", "█ inference", "▒ tools", "╱ overhead", "░ approval", "· other"):
        assert word in said
    stages = STATE.stages_ms("turn_dates", NOW_NS)
    line = STATE.turn_line("turn_dates", NOW_NS)
    assert line is not None and abs(sum(stages.values()) - line.duration_ms) < 1e-6


@given(st.integers(30, 200), st.booleans(), st.sampled_from(["open", "closed", "lost", None]), st.integers(0, 3))
def test_the_header_fits_and_leaves_out_what_is_unknown(
    width: int, known: bool, state: str | None, approvals: int
) -> None:
    made = Header(
        transport="websocket", connection="c" if state else None, connection_state=state,
        connection_age_s=2_472.0 if state else None, rotates_in_s=828.0 if state == "open" else None,
        live_rate=812.0 if known else None, rates=(300.0, 812.0) if known else (), ttft_ms=92.0 if known else None,
        cache_ratio=0.94 if known else None, cost_usd=1.84 if known else None, cost_partial=False, running=1,
        approvals=approvals,
    )  # fmt: skip
    text = text_of(header.paint(made, width))
    assert len(text) <= width
    assert "loopline" in text or width < 60
    if not known:
        assert "ttft" not in text and "cached" not in text and "$" not in text
    if width >= 160 and known and state == "open":
        for part in ("● ws", "00:41:12", "rotates in 13:48", "≈812 tok/s", "ttft 92 ms", "cached 94 %", "$1.84 today"):
            assert part in text
    if approvals:
        assert f"? {approvals} to approve" in text or width < 40


def test_sparklines_scale_to_their_highest() -> None:
    assert header.sparkline([]) == header.sparkline([0.0, 0.0]) == ""
    assert header.sparkline([0.0, 1.0, 4.0, 8.0]) == " ▁▄█"


def test_tables_drop_their_least_important_columns_first() -> None:
    columns = (Column("name", align="left"), Column("a", 2), Column("b", 1), Column("c", 3))
    rows = [["x", "1" * 10, "2" * 10, "3" * 10]]
    heads = [text_of(table(columns, rows, width)[0]).split() for width in (60, 35, 25, 12)]
    assert heads == [["name", "a", "b", "c"], ["name", "a", "b"], ["name", "b"], ["name"]]


def test_texts_are_cut_in_cells_not_characters() -> None:
    assert [left("日本語", 4), right("日本", 6), left("abc", 5), left("abcdef", 3)] == [
        "日 …",
        "  日本",
        "abc  ",
        "ab…",
    ]
    line: Line = (("abc", ""), ("日本語", "dim"))
    assert line_width(crop(line, 6)) == 6
    assert text_of(crop(line, 9)) == "abc日本語"
    assert [text_of(one) for one in wrapped([(("aa", ""),), (("bb", ""),), (("cc", ""),)], 6)] == ["aa  bb", "cc"]


def _luminance(color: Color) -> float:
    parts = [value / 255 for value in color.get_truecolor()]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color, other: Color) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("found", THEMES, ids=lambda found: found.name)
def test_every_role_can_be_read_on_every_ground(found: Theme) -> None:
    """WCAG 2.1 asks for 4.5 to 1 for text; both our themes keep it on all their grounds."""
    palette = PALETTES[found.name]
    grounds = [found.background, found.surface, found.panel, palette.cursor.bgcolor, palette.marked.bgcolor]
    for role, style in palette.roles.items():
        if style.color is None or role == "inference.tick":
            continue
        for ground in grounds:
            assert ground is not None
            color = ground if isinstance(ground, Color) else Color.parse(ground)
            assert contrast(style.color, color) >= 4.5, (role, ground)


def test_other_themes_get_the_palette_of_their_brightness() -> None:
    assert palette_of("nord", True) is PALETTES[DARK]
    assert palette_of("textual-light", False) is PALETTES[LIGHT]


def test_the_desk_keeps_its_selection_among_what_is_listed() -> None:
    desk = Desk(State().apply_all(FEED))
    assert desk.listed(NOW_NS)[0] == desk.turn == "turn_dates"
    desk.follow, desk.turn = False, "turn_rename"
    desk.filter = "docs"
    assert desk.listed(NOW_NS)[0] == desk.turn == "turn_guide"
    desk.filter = "nothing has this"
    assert desk.listed(NOW_NS) == []
    assert desk.turns_page(40, NOW_NS).rows[1].key is None
    assert desk.midnight_ns(NOW_NS) <= NOW_NS
    assert NOW_NS - desk.midnight_ns(NOW_NS) < 86_400 * 10**9


def test_what_can_not_be_done_from_here_is_not_offered() -> None:
    desk = Desk(State().apply_all(FEED))
    desk.listed(NOW_NS)
    for can in (True, False):
        desk.can_answer = can
        assert ("answer approval" in text_of(desk.hints(160))) is can
        [waiting] = [row for row in desk.panel_page(120, NOW_NS).rows if row.key == "appr_push"]
        assert any("answers it" in text_of(line) for line in waiting.detail) is can
