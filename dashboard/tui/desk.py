"""What the person at the dashboard has chosen, and the pages that follow from it and the state. No widgets here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, tzinfo

import msgspec

from agent_core.telemetry.rollup.figures import Figures
from dashboard.state.compare import figures_of_turn
from dashboard.state.filters import Word, matches, parse
from dashboard.state.fold import State
from dashboard.state.lines import TurnLine
from dashboard.widgets.paint import connection, errors, header, raw, reuse, tokens, turns, waterfall
from dashboard.widgets.spans import Lazy, Line, Look, Page, Row, fill, joined, left, line_width, nothing, title_of

RATES_HZ = (0.5, 1.0, 2.0, 4.0, 10.0)
"""How often all is drawn; the panel that has the keyboard is drawn 10 times a second when its turn changes."""


class Tab(msgspec.Struct, frozen=True):
    """`of_turn`: shows the selected turn; else everything."""

    name: str
    short: str
    paint: Callable[[Look], Page]
    of_turn: bool


TABS = (
    Tab("Waterfall", "Time", waterfall.paint, True),
    Tab("Tokens", "Tok", tokens.paint, True),
    Tab("Cache & reuse", "Reuse", reuse.paint, True),
    Tab("Connection", "Conn", connection.paint, False),
    Tab("Errors", "Err", errors.paint, False),
    Tab("Raw", "Raw", raw.paint, False),
)
RAW = 5
TROUBLE_CELLS = 60
_HINTS = (
    ("?", "help"), ("/", "filter"), ("space", "pause"), ("f", "follow"), ("a", "answer approval"), ("x", "cancel turn"),
    ("e", "export"), ("c", "compare"), ("s", "search"), ("t", "theme"), ("q", "quit"),
)  # fmt: skip


class Desk:
    """Choices, and what they make of the state."""

    def __init__(self, state: State, zone: tzinfo = UTC) -> None:
        self.state, self.zone = state, zone
        self.titles: Mapping[str, str] = {}
        self.shown = 0
        """Turns that pass the filter."""
        self.turn: str | None = None
        """The selected one."""
        self.can_answer = True
        """Approvals can be answered and turns cancelled from here."""
        self.tab = 0
        self.follow = True
        """Whether the newest turn is selected as it comes."""
        self.paused = False
        self.rate = RATES_HZ.index(4.0)
        self.filter = ""
        self.raw_types = ""
        self.baseline: str | None = None
        """The turn that others are compared with."""
        self.source = "live"
        """Where events come from, in a word or two."""
        self.reading = False
        """History is still being read."""
        self.trouble = ""
        """What is wrong with the feed; "" while all is well."""

    @property
    def rate_hz(self) -> float:
        return RATES_HZ[self.rate]

    def change_rate(self, step: int) -> None:
        self.rate = min(len(RATES_HZ) - 1, max(0, self.rate + step))

    def midnight_ns(self, now_ns: int) -> int:
        """Start of the day in which `now_ns` is, here."""
        day = datetime.fromtimestamp(now_ns / 1e9, self.zone).replace(hour=0, minute=0, second=0, microsecond=0)
        return round(day.timestamp() * 1e9)

    # Turns

    def listed(self, now_ns: int) -> list[str]:
        """Ids of the turns that pass the filter, newest first; the selection is kept among them."""
        words = parse(self.filter)
        ids = [turn for turn in self.state.turn_ids() if not words or self._passes(turn, words, now_ns)]
        if self.follow and ids:
            running = set(self.state.running)
            self.turn = next((turn for turn in ids if turn in running), ids[0])
        elif self.turn not in self.state.rollup.turns or (words and self.turn not in ids):
            self.turn = ids[0] if ids else None
        return ids

    def turns_page(self, width: int, now_ns: int) -> Page:
        ids = self.listed(now_ns)
        self.shown = len(ids)
        if not ids:
            return self._no_turns()
        look = self._look(width, now_ns)

        def row(index: int) -> Row:
            line = self.state.turn_line(ids[index], now_ns)
            if line is None:
                return Row(())
            first, second = turns.paint(look, line)
            return Row(first, key=line.turn, detail=(second,), copy=self._copied(look, line))

        return Page(rows=Lazy(ids, row))

    # Panels

    def panel_page(self, width: int, now_ns: int) -> Page:
        tab = TABS[self.tab]
        if not self.state.events:
            return self._empty()
        if tab.of_turn and self.turn is None:
            return nothing("No turn is listed.", "Clear the filter with / and Esc." if self.filter else "")
        return tab.paint(self._look(width, now_ns))

    @property
    def subject(self) -> object:
        """What the panel is about; another subject starts at its own beginning."""
        tab = TABS[self.tab]
        return (self.tab, self.turn if tab.of_turn else None)

    def header_line(self, width: int, now_ns: int) -> Line:
        return header.paint(self.state.header(now_ns, self.midnight_ns(now_ns)), width)

    def list_title(self) -> Line:
        total = len(self.state.rollup.turns)
        if self.filter:
            return (("Turns ", "strong"), (f"{self.shown} of {total} ", "dim"), (f"/{self.filter}", "accent"))
        return (("Turns ", "strong"), (f"{total}" if total else "", "dim"))

    def hints(self, width: int) -> Line:
        """Keys on the left as room allows, the mode on the right."""
        mode = self.mode()
        room = width - 2 - line_width(mode) - 3
        hints = [hint for hint in _HINTS if self.can_answer or hint[0] not in ("a", "x")]
        keys = fill([((key, "accent"), (f" {word}", "dim")) for key, word in hints], max(0, room), "  ")
        gap = width - 2 - line_width(keys) - line_width(mode)
        return joined([keys, mode], " " * max(1, gap))

    def mode(self) -> Line:
        parts: list[Line] = [((f"✗ {left(self.trouble, TROUBLE_CELLS).rstrip()}", "bad"),)] if self.trouble else []
        if self.reading:
            parts.append(((f"… reading history, {self.state.events:,} events", "warn"),))
        if self.paused:
            parts.append((("■ paused", "warn"),))
        else:
            parts.append(((f"● {self.source}", "good" if self.source == "live" else "accent"),))
        if self.follow:
            parts.append((("follow", "dim"),))
        parts.append(((f"{self.rate_hz:g} Hz", "dim"),))
        return joined(parts)

    # Comparing

    def turn_name(self, turn: str, now_ns: int) -> str:
        line = self.state.turn_line(turn, now_ns)
        look = self._look(80, now_ns)
        return title_of(look, turn, line.title if line is not None else turn)

    def turn_figures(self, turn: str) -> Figures:
        return figures_of_turn(self.state.rollup, turn)

    def models(self) -> list[str]:
        """Models that were called, the most called first."""
        groups = self.state.rollup.groups.models
        return sorted(groups, key=lambda model: -groups[model].calls)

    # Small things

    def _look(self, width: int, now_ns: int) -> Look:
        return Look(
            state=self.state,
            turn=self.turn,
            now_ns=now_ns,
            width=max(20, width),
            zone=self.zone,
            titles=self.titles,
            can_answer=self.can_answer,
            raw_types=self.raw_types,
        )

    def _passes(self, turn: str, words: tuple[Word, ...], now_ns: int) -> bool:
        line = self.state.turn_line(turn, now_ns)
        return line is not None and matches(words, line, self.titles.get(turn, ""))

    def _copied(self, look: Look, line: TurnLine) -> str:
        first, second = turns.paint(msgspec.structs.replace(look, width=100), line)
        text = " ".join("".join(part for part, _ in (*first, *second)).split())
        return f"{line.turn} {text}"

    def _no_turns(self) -> Page:
        if self.filter:
            return nothing("No turn passes the filter.", "Esc clears it.")
        return nothing("No turns yet.") if self.state.events else Page()

    def _empty(self) -> Page:
        if self.reading:
            return nothing("Reading …")
        if self.source != "live":
            return nothing("Nothing has come yet.")
        return nothing(
            "Nothing has run since yesterday.", "To see something here, run in another terminal:", "",
            "    loopline demo", "    loopline run \"fix the failing test\"", "",
            "or work in an editor that uses loopline lsp.", "o reads one more day of history.",
        )  # fmt: skip
