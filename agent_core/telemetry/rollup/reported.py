"""How what other agents tell of their turns and calls enters the roll-up's rows. Pure.

Reports come whole and in any order: a call after its turn's end, an end before its calls. Whatever the order, rows and
sums are the same in the end; a turn that was counted is taken out and counted anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_core.telemetry import events as ev
from agent_core.telemetry.rollup.book import Book
from agent_core.telemetry.rollup.figures import Targets, is_good
from agent_core.telemetry.rollup.groups import Groups
from agent_core.telemetry.rollup.reckoning import reckon
from agent_core.telemetry.rollup.rows import CallRow, TurnRow
from agent_core.telemetry.rollup.stages import ms_to_ns
from agent_core.telemetry.rollup.suspect import suspect_figures

_TOLD = (
    "status", "model", "transport", "reuse", "duration_ms", "response_id", "ttft_ms", "visible_ttft_ms", "inference_ms",
    "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "deltas", "bytes_down",
    "finish_reason", "error_code",
)  # fmt: skip


def fill(row: CallRow, event: ev.CallReported, at_ns: int) -> None:
    """Put what was told of a call into its row; `at_ns` is its end."""
    row.origin, row.warmup = "reported", event.warmup
    for name in _TOLD:
        setattr(row, name, getattr(event, name))
    row.suspect = suspect_figures(event)
    duration_ms = 0.0 if event.duration_ms is None or "duration_ms" in row.suspect else event.duration_ms
    row.ended_ns, row.sent_ns = at_ns, at_ns - ms_to_ns(duration_ms)
    row.attempt_ns = row.sent_ns
    row.first_delta_ns = None
    if event.duration_ms is not None and event.ttft_ms is not None and "ttft_ms" not in row.suspect:
        row.first_delta_ns = min(at_ns, row.sent_ns + ms_to_ns(event.ttft_ms))


def lapse(turn: TurnRow) -> None:
    """The turn is over by all that was told of it, and nobody told its end. Its stages are left to `as_of`."""
    turn.reported = True
    turn.status, turn.stage, turn.ended_ns = "untold", None, turn.started_ns + turn.duration_ns


def wake(turn: TurnRow | None) -> None:
    """More of a turn is reported."""
    if turn is not None and turn.status == "untold":
        turn.status, turn.stage, turn.ended_ns = None, "client_other", None


def begin(turn: TurnRow | None, start_ns: int) -> None:
    """Something of a turn was reported that began at an instant."""
    if turn is None:
        return
    turn.reported = True
    if turn.status is None:
        turn.started_ns = min(turn.started_ns, start_ns)


def end(book: Book, turn: TurnRow, event: ev.TurnFinished, at_ns: int) -> None:
    """The end of a turn was reported."""
    book.close_turn(turn, event.mono_ns)
    turn.reported, turn.status, turn.stage, turn.ended_ns = True, event.status, None, at_ns
    turn.started_ns = at_ns - ms_to_ns(event.duration_ms)


def count(book: Book, groups: Groups, targets: Targets, turn: TurnRow) -> None:
    """Count an ended turn as it stands now."""
    calls = _calls(book, turn)
    reckon(turn, calls, turn.ended_ns or turn.started_ns)
    turn.good = is_good(turn, list(calls), targets)
    groups.add_turn(turn, turn.good, _models(calls))


def discount(book: Book, groups: Groups, turn: TurnRow | None) -> bool:
    """Before something late changes an ended turn: take it out of the sums. False if there is nothing to take out."""
    wake(turn)
    if turn is None or not turn.reported or turn.status is None:
        return False
    groups.add_turn(turn, turn.good, _models(_calls(book, turn)), -1)
    return True


def as_of(book: Book, turn: TurnRow, end_ns: int) -> None:
    """The stages of a running turn at an instant."""
    calls = _calls(book, turn)
    ends = [call.ended_ns for call in calls if call.ended_ns is not None]
    reckon(turn, calls, max([end_ns, *ends]))


def _calls(book: Book, turn: TurnRow) -> Sequence[CallRow]:
    return [row for row in (book.calls.get(call) for call in turn.calls) if row is not None]


def _models(calls: Sequence[CallRow]) -> set[str]:
    return {call.model for call in calls if call.model is not None and not call.warmup}
