"""`loopline demo`: the main job on a copy of the sample, over a WebSocket and then over HTTP, judged by its tests."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent_core.cli.console import CleanConsole, make_console, make_table
from agent_core.cli.jsonl import JsonLines
from agent_core.cli.run import Report, RunOptions, perform, show
from agent_core.cli.terminal import Terminal
from agent_core.demo.sample import TASK, Verdict, copy_to, run_tests
from agent_core.telemetry.display import duration, number, size
from agent_core.telemetry.rollup.rows import CallRow
from agent_core.telemetry.rollup.summary import median

LABEL = "search engine, no model"


class Leg(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two runs: its transport, what it came to, and what the sample's tests say afterwards."""

    transport: str
    report: Report
    verdict: Verdict

    @property
    def ok(self) -> bool:
        return self.report.exit_code == 0 and self.verdict.ok


def run_demo(*, json: bool, keep: Path | None) -> int:
    """Run both legs; 0 only if the tests really pass after each."""
    with tempfile.TemporaryDirectory(prefix="loopline-demo-") as scratch:
        first = copy_to(keep if keep is not None else Path(scratch) / "websocket")
        second = copy_to(Path(scratch) / "http")
        return _json(first, second) if json else _terminal(first, second)


def _terminal(first: Path, second: Path) -> int:
    console = make_console()
    terminal = Terminal(console)
    try:
        socket = asyncio.run(_leg(first, "websocket", terminal, console))
        terminal.close()
        show(console, socket.report)
        console.print(_judged(socket))
        if not socket.ok:
            return socket.report.exit_code or 1
        console.print(Text("\nthe same task over HTTP, in full each time", style="bold"))
        http = asyncio.run(_leg(second, "http", terminal, console))
    finally:
        terminal.close()
    console.print(_judged(http))
    console.print()
    console.print(comparison((socket, http)))
    console.print(
        f"figures of `repair`: {LABEL}, on loopback. Overhead is what is not the engine's own time. Over HTTP, on a "
        "connection kept alive, the engine has no state and plans anew from the history: that is in ttft.",
        style="dim",
    )
    return 0 if http.ok else http.report.exit_code or 1


def _json(first: Path, second: Path) -> int:
    lines = JsonLines()
    quiet = CleanConsole(stderr=True, quiet=True)
    legs = [asyncio.run(_leg(first, "websocket", lines, quiet)), asyncio.run(_leg(second, "http", lines, quiet))]
    for leg in legs:
        lines.write({"type": "leg", "transport": leg.transport, "tests_passed": leg.verdict.passed,
                     "tests_failed": leg.verdict.failed, "label": LABEL, **_figures(leg)})  # fmt: skip
    summary = legs[0].report.summary()
    if not all(leg.ok for leg in legs):
        summary["status"] = "failed"
    lines.write(summary)
    return 0 if all(leg.ok for leg in legs) else max(leg.report.exit_code for leg in legs) or 1


async def _leg(folder: Path, transport: str, front: Terminal | JsonLines, console: Console) -> Leg:
    flags = {"transport": transport, "approve": "auto", "model": "repair", "python": sys.executable}
    options = RunOptions(task=TASK, workspace=folder, flags=flags)
    report = await perform(options, front, console)
    return Leg(transport=transport, report=report, verdict=await run_tests(folder))


def _judged(leg: Leg) -> Text:
    verdict = leg.verdict
    counts = f"{verdict.passed} passed" + (f", {verdict.failed} failed" if verdict.failed else "")
    style = "bold green" if verdict.ok else "bold red"
    return Text(f"{'✓' if verdict.ok else '✗'} tests of the sample, run apart from the agent: {counts}", style=style)


def _median(rows: list[CallRow], name: str) -> float | None:
    return median([value for row in rows if (value := getattr(row, name)) is not None])


def _figures(leg: Leg) -> dict[str, float | int | None]:
    rows = leg.report.rollup.call_rows()
    summary = leg.report.rollup.summary()
    return {
        "calls": summary.calls,
        "connections": summary.connections,
        "bytes_up": summary.bytes_up,
        "overhead_ms_p50": _median(rows, "overhead_ms"),
        "ttft_ms_p50": summary.ttft_ms_p50,
        "duration_ms": round(leg.report.duration_ms, 1),
    }


def comparison(legs: tuple[Leg, ...]) -> Table:
    """Both runs side by side; overhead and time to first token are medians per call."""
    table = make_table()
    for name in ("same task over", "calls", "connections", "up", "overhead/call", "ttft", "whole run"):
        table.add_column(name, justify="left" if name == "same task over" else "right", no_wrap=True)
    for leg in legs:
        figures = _figures(leg)
        table.add_row(
            {"websocket": "one WebSocket", "http": "HTTP"}[leg.transport],
            number(figures["calls"]),
            number(figures["connections"]),
            size(figures["bytes_up"]),
            duration(figures["overhead_ms_p50"]),
            duration(figures["ttft_ms_p50"]),
            duration(figures["duration_ms"]),
        )
    return table
