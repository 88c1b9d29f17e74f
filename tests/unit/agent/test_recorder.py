"""The recorder: what telemetry says of a turn, made from its events alone."""

from __future__ import annotations

from typing import Any

import pytest

from agent_core.agent.recorder import Recorder
from agent_core.telemetry import events as ev
from agent_core.telemetry.emitter import Emitter, ListSink
from agent_core.turns import events as told
from agent_core.turns.approval import Approval
from tests.support.model.session import JumpingClock

IDS: dict[str, Any] = {"session_id": "s", "turn_id": "t"}
ENDED: dict[str, Any] = {
    "name": "shell",
    "summary": "",
    "diff": "",
    "files_changed": (),
    "duration_ms": 5.0,
    "output": "é",
}


@pytest.fixture
def desk() -> tuple[Recorder, ListSink, JumpingClock]:
    sink, clock = ListSink(), JumpingClock()
    return Recorder(Emitter(sink, clock, "test"), clock), sink, clock


def test_a_refused_call_is_never_told_as_started(desk: tuple[Recorder, ListSink, JumpingClock]) -> None:
    recorder, sink, _ = desk
    recorder(told.TurnBegan(**IDS, title="x"))
    recorder(told.ToolBegan(**IDS, tool_call_id="c", name="shell", arguments="{}", refused=True))
    recorder(told.ToolEnded(**IDS, tool_call_id="c", status="denied", **ENDED))
    assert [type(event) for event in sink.events] == [ev.TurnStarted, ev.ToolFinished]
    finished = sink.events[-1]
    assert isinstance(finished, ev.ToolFinished) and (finished.status, finished.output_bytes) == ("denied", 2)


@pytest.mark.parametrize("by", ["lsp", "timeout", ""])
def test_who_answered_an_approval_is_kept(desk: tuple[Recorder, ListSink, JumpingClock], by: str) -> None:
    recorder, sink, _ = desk
    approval = Approval(**IDS, approval_id="a", kind="command", name="shell", subject="rm -rf x", rule="commands ask")
    recorder(told.TurnBegan(**IDS, title="x"))
    recorder(told.ApprovalAsked(approval=approval))
    recorder(told.ApprovalEnded(**IDS, approval_id="a", decision="allow", by=by))
    resolved = sink.events[-1]
    assert isinstance(resolved, ev.ApprovalResolved)
    assert (resolved.by, resolved.kind, resolved.rule) == (by or None, "command", "commands ask")
    assert not any("rm -rf" in str(event) for event in sink.events), "what is asked for is content"


def test_the_stages_of_a_turn_add_up_to_its_duration(desk: tuple[Recorder, ListSink, JumpingClock]) -> None:
    recorder, sink, clock = desk
    recorder(told.TurnBegan(**IDS, title="x"))
    recorder(told.CallBegan(**IDS, call_id="1"))
    clock.jump(0.5)
    recorder(told.CallEnded(**IDS, call_id="1", inference_ms=200.0))
    recorder(told.ToolBegan(**IDS, tool_call_id="c", name="shell", arguments="{}"))
    clock.jump(0.25)
    recorder(told.ToolEnded(**IDS, tool_call_id="c", status="ok", **ENDED))
    recorder(told.TurnEnded(**IDS, status="completed", text="", duration_ms=1.0, calls=1, tools=1))
    finished = sink.events[-1]
    assert isinstance(finished, ev.TurnFinished) and (finished.calls, finished.tools) == (1, 1)
    assert sum(finished.stages_ms.values()) == pytest.approx(finished.duration_ms)
    assert finished.stages_ms["inference"] == pytest.approx(200.0)
    assert finished.stages_ms["client_tool"] >= 250.0
