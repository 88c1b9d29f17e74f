"""The same recorded feed gives the same numbers in the table of `loopline run` and in the terminal dashboard."""

from __future__ import annotations

import pytest
from rich.table import Table

from agent_core.cli.table import call_table
from agent_core.telemetry.rollup.rollup import Rollup
from dashboard.state.fold import State
from dashboard.widgets.paint import reuse, tokens, waterfall
from dashboard.widgets.spans import Line, Look, text_of
from tests.support.telemetry.recorded_feed import now_after, recorded_feed

FEED = recorded_feed()
NOW_NS = now_after(FEED)
TURNS = [line.turn for line in State().apply_all(FEED).turn_lines(NOW_NS)]


def run_table(turn: str) -> list[dict[str, str]]:
    table: Table = call_table(Rollup().fold_all(FEED).call_rows(turn=turn), 160)
    columns = [[str(cell).replace(" ", "") for cell in column.cells] for column in table.columns]
    names = [str(column.header) for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def panel(look: Look, header: Line, lines: list[Line], names: dict[str, str]) -> list[dict[str, str]]:
    """Cells of a drawn table by the names they have in the other one, without blanks."""
    head = text_of(header)
    found = []
    for line in lines:
        text = text_of(line)
        row = {}
        for shown, name in names.items():
            end = head.index(f" {shown}") + 1 + len(shown)
            start = max(0, text.rfind("  ", 0, end))
            row[name] = text[start:end].replace(" ", "")
        found.append(row)
    return found


@pytest.mark.parametrize("turn", TURNS)
def test_run_table_and_tokens_panel_agree(turn: str) -> None:
    look = Look(state=State().apply_all(FEED), turn=turn, now_ns=NOW_NS, width=160)
    page = tokens.paint(look)
    lines = [row.line for row in page.rows]
    names = {"in": "in", "cached": "cached", "out": "out", "tok/s": "tok/s", "ttft": "ttft"}
    drawn = panel(look, page.fixed[-1], lines, names)
    table = [{name: row[name] for name in names.values()} for row in run_table(turn)]
    assert len(table) == len(drawn) > 0
    for of_run, of_tui in zip(table, drawn, strict=True):
        assert all(of_tui.values())
        assert of_tui == of_run


@pytest.mark.parametrize("turn", TURNS)
def test_run_table_and_the_other_panels_agree(turn: str) -> None:
    look = Look(state=State().apply_all(FEED), turn=turn, now_ns=NOW_NS, width=160)
    table = run_table(turn)
    details = [
        "".join(text_of(line) for line in row.detail).replace(" ", "")
        for row in waterfall.paint(look).rows
        if row.key in {call.call for call in look.state.calls_of(turn)}
    ]
    chains = [text_of(row.line).replace(" ", "") for row in reuse.paint(look).rows if row.key is not None]
    assert len(details) == len(chains) == len(table)
    for of_run, detail, chain in zip(table, details, chains, strict=True):
        for name in ("overhead", "inference", "ttft", "up", "in"):
            assert f"{name}{of_run[name]}" in detail, name
        assert of_run["chain"] in detail and of_run["chain"] in chain
        assert of_run["up"] in chain
