"""One recorded feed, three readers: the run's table, the terminal dashboard and the browser's page agree."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from agent_core.cli.table import call_table
from agent_core.telemetry.rollup.rollup import Rollup
from dashboard.state.fold import State
from dashboard.widgets.paint import tokens
from dashboard.widgets.spans import Look, text_of
from tests.support.hub.stores import batch_of, work
from tests.support.telemetry.recorded_feed import now_after
from tests.support.telemetry.scene import Scene
from tests.support.web.running import running_site

NAMES = {"First token": "ttft", "Overhead": "overhead", "Inference": "inference", "Tools": "tools", "In": "in",
         "Cached": "cached", "Out": "out", "Rate": "tok/s", "Up": "up", "Chain": "chain"}  # fmt: skip
"""Columns of the page by their names in the run's table."""


class _Table(HTMLParser):
    """Rows of the first table whose header has a `First token`; cells as text without blanks."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self._cell = []

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("th", "td") and self._cell is not None and self.rows:
            self.rows[-1].append(" ".join("".join(self._cell).split()))
            self._cell = None


def _of_page(html: str) -> list[dict[str, str]]:
    parser = _Table()
    parser.feed(html)
    start = next(index for index, row in enumerate(parser.rows) if "First token" in row)
    header = parser.rows[start]
    rows = [row for row in parser.rows[start + 1 :] if len(row) == len(header)]
    return [
        {NAMES[name]: cell.replace(" ", "") for name, cell in zip(header, row, strict=True) if name in NAMES}
        for row in rows
    ]


def _of_run(scene: Scene, turn: str) -> list[dict[str, str]]:
    table = call_table(Rollup().fold_all(scene.events).call_rows(turn=turn), 160)
    names = [str(column.header) for column in table.columns]
    cells = zip(*([str(cell).replace(" ", "") for cell in column.cells] for column in table.columns), strict=True)
    return [dict(zip(names, row, strict=True)) for row in cells]


def _numbers(text: str) -> str:
    """What a cell says as a number: the rate's unit stands in the header of the run's table."""
    return re.sub(r"tok/s$", "", text)


async def test_a_turns_calls_have_the_same_numbers_everywhere(tmp_path: Path) -> None:
    scene = Scene()
    async with running_site(tmp_path) as site:
        scene.clock.set_wall(site.clock.wall_ns() - 600_000_000_000)
        scene.start_session("shop")
        scene.open_connection()
        turn = work(scene)
        await site.hub.accept("local", "ann", batch_of(scene.events))
        async with site.client(site.secret, accept="text/html") as client:
            answer = await client.get(f"/turns/{turn}")
    assert answer.status_code == 200
    run, page = _of_run(scene, turn), _of_page(answer.text)
    assert len(run) == len(page) > 0
    for of_run, of_page in zip(run, page, strict=True):
        for name in NAMES.values():
            assert _numbers(of_page[name]) == of_run[name], name
    look = Look(state=State().apply_all(scene.events), turn=turn, now_ns=now_after(scene.events), width=160)
    drawn = [text_of(row.line).replace(" ", "") for row in tokens.paint(look).rows]
    assert len(drawn) == len(run)
    for of_run, line in zip(run, drawn, strict=True):
        assert all(of_run[name] in line for name in ("in", "cached", "out", "ttft"))
