"""Calls and turns that other agents tell of: their rows, their stages, late and repeated ones."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from agent_core.clock import rfc3339
from agent_core.telemetry import events as ev
from agent_core.telemetry.rollup.groups import Groups
from agent_core.telemetry.rollup.reckoning import MAX_PARTS, stages
from agent_core.telemetry.rollup.rollup import Rollup
from agent_core.telemetry.rollup.rows import CallRow, ToolRow, TurnRow

T0 = 1_796_123_000_000_000_000
MS = 1_000_000


def at(ms: float, event: ev.Event) -> tuple[int, ev.Event]:
    ns = T0 + round(ms * MS)
    return ns, event


def folded(*given: tuple[int, ev.Event]) -> Rollup:
    rollup = Rollup()
    for seq, (ns, event) in enumerate(given, 1):
        stamps = {
            "v": 1,
            "source": "otlp-1",
            "seq": seq,
            "time": rfc3339(ns),
            "mono_ns": ns,
            "session": "s",
            "turn": "t",
        }
        rollup.fold(type(event)(**{**{f: getattr(event, f) for f in event.__struct_fields__}, **stamps}))
    return rollup


CALL = at(600, ev.CallReported(call="c1", reporter="x", status="completed", model="gpt-5", duration_ms=500, ttft_ms=100,
                               input_tokens=900, cached_tokens=300, output_tokens=50, response_id="r1"))  # fmt: skip
TOOL = (
    at(600, ev.ToolStarted(tool_call="k", name="read")),
    at(800, ev.ToolFinished(tool_call="k", name="read", status="ok", duration_ms=200)),
)
END = at(1000, ev.TurnFinished(status="completed", duration_ms=1000, stages_ms={}, calls=0, tools=0))
STAGES = {"api_overhead": 100, "inference": 400, "client_tool": 200, "approval": 0, "client_other": 300}


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_in_whatever_order_a_turn_has_its_stages(order: tuple[int, ...]) -> None:
    parts = [(CALL,), TOOL, (END,)]
    rollup = folded(*[one for index in order for one in parts[index]])
    turn = rollup.turns["t"]
    assert {name: ns // MS for name, ns in turn.stages_ns.items()} == STAGES
    assert (turn.started_ns, turn.duration_ms, turn.ttft_ms, turn.status) == (T0, 1000, 200, "completed")
    total = rollup.groups.total
    assert (total.calls, total.turns, total.creates, total.input_tokens, total.cached_tokens) == (1, 1, 0, 900, 300)
    assert total.stages_ms == STAGES
    assert total.percentile("turn_duration", 0.5) == pytest.approx(1000, rel=0.02)


def test_a_call_that_is_told_again_replaces_itself() -> None:
    rollup = folded(CALL, END, CALL)
    assert (rollup.groups.total.calls, rollup.groups.total.input_tokens, rollup.groups.total.turns) == (1, 900, 1)


def test_what_is_not_told_is_not_known() -> None:
    (row,) = folded(at(5, ev.CallReported(call="c", reporter="x", status="failed", error_code="529"))).calls.values()
    assert (row.origin, row.sent_bytes, row.reuse, row.transport, row.ttft_ms) == ("reported", None, None, None, None)
    assert (row.duration_ms, row.overhead_ms, row.rate, row.cache_ratio, row.cost_usd) == (None, None, None, None, None)


def test_the_service_and_the_agent_meet_by_the_response() -> None:
    service = ev.ServiceCall(response_id="r1", stages_ms={"render": 3.0}, new_tokens=600, reused_tokens=300)
    for order in ((at(0, service), CALL), (CALL, at(700, service))):
        row = folded(*order).calls["c1"]
        assert (row.service_stages_ms, row.new_tokens, row.reused_tokens) == ({"render": 3.0}, 600, 300)


def test_a_turn_whose_end_nobody_tells_counts_as_none_until_it_is_told() -> None:
    rollup = folded(CALL)
    rollup.lapse("t")
    rollup.settle()
    assert (rollup.turns["t"].status, rollup.groups.total.turns) == ("untold", 0)
    assert rollup.turns["t"].duration_ms == 500
    ns, end = END
    told = ev.TurnFinished(
        v=1, source="otlp-1", seq=9, time=rfc3339(ns), mono_ns=ns, session="s", turn="t", status="completed",
        duration_ms=1000, stages_ms={}, calls=0, tools=0,
    )  # fmt: skip
    rollup.fold(told)
    assert (rollup.turns["t"].status, rollup.groups.total.turns) == ("completed", 1)


class Counted(Groups):
    """Sums that count how often a turn entered or left them."""

    changes = 0

    def add_turn(self, row: TurnRow, good: bool, models: set[str], sign: int = 1) -> None:
        self.changes += 1
        super().add_turn(row, good, models, sign)


def test_many_late_calls_are_worked_out_once() -> None:
    """Each alone costs as much as the turn has calls: a body of them would hold a hub up for minutes."""
    late = [msgspec.structs.replace(CALL[1], call=f"c{number}") for number in range(300)]
    each, together = folded(END, CALL), folded(END, CALL)
    together.groups = counted = Counted(together.prices, max_windows=9, max_models=9, max_sessions=9)
    counted.add_turn(together.turns["t"], False, set())
    for seq, event in enumerate(late, 10):
        ns = CALL[0]
        stamped = msgspec.structs.replace(
            event, v=1, source="otlp-1", seq=seq, time=rfc3339(ns), mono_ns=ns, session="s", turn="t"
        )
        each.fold(stamped)
        together.take(stamped)
    together.settle()
    assert counted.changes == 3
    assert together.turns == each.turns and together.calls == each.calls
    assert counted.total.turns == each.groups.total.turns == 1


def test_what_a_reported_turn_holds_is_bounded() -> None:
    rollup = folded(END)
    for seq in range(10, 10 + 2 * MAX_PARTS):
        ns = T0 + seq
        of: Any = {"v": 1, "source": "otlp-1", "time": rfc3339(ns), "mono_ns": ns, "session": "s", "turn": "t"}
        rollup.take(msgspec.structs.replace(CALL[1], call=f"c{seq}", seq=2 * seq, **of))
        rollup.take(ev.ToolStarted(tool_call=f"k{seq}", name="x", seq=2 * seq + 1, **of))
    rollup.settle()
    turn = rollup.turns["t"]
    assert (len(turn.calls), len(turn.tools)) == (MAX_PARTS, MAX_PARTS)
    assert rollup.groups.total.calls == 2 * MAX_PARTS


def test_turns_whose_ends_nobody_tells_are_forgotten() -> None:
    rollup = Rollup(max_turns=5)
    for seq in range(1, 50):
        ns = T0 + seq
        rollup.take(
            ev.TurnStarted(v=1, source="otlp-1", seq=seq, time=rfc3339(ns), mono_ns=ns, session="s", turn=f"t{seq}")
        )
        rollup.lapse(f"t{seq}")
    rollup.settle()
    assert len(rollup.turns) == 5 and rollup.turns["t49"].number == 49


def test_stages_of_what_overlaps_and_of_too_much() -> None:
    calls = [CallRow(call=str(n), source="s", number=n, attempt_ns=0, ended_ns=60, first_delta_ns=20) for n in (1, 2)]
    tools = [ToolRow(tool_call="k", name="t", call=None, started_ns=50, ended_ns=90)]
    split = stages(0, 100, calls, tools)
    assert split == {"api_overhead": 0, "inference": 60, "client_tool": 30, "approval": 0, "client_other": 10}
    assert stages(0, 100, calls, tools * MAX_PARTS)["client_other"] == 100
