"""What two sides of a comparison have that is not of one kind."""

from __future__ import annotations

from agent_core.telemetry.rollup.figures import Figures
from agent_core.telemetry.rollup.rows import CallRow
from dashboard.state.comparable import Side, notes


def side(name: str, *, reported: bool, cached: int | None = 5, ttft: str = "a") -> Side:
    figures = Figures()
    for _ in range(3):
        figures.add_call(
            CallRow(
                call="c", source="s", number=1, attempts=0 if reported else 1, status="completed", input_tokens=9,
                cached_tokens=cached, output_tokens=2, ttft_ms=4.0, duration_ms=9.0, cost_usd=0.1,
                reuse=None if reported else "first",
            )
        )  # fmt: skip
    return Side(name, figures, ttft)


def test_two_of_one_kind_have_no_notes() -> None:
    assert notes(side("a", reported=False), side("b", reported=False)) == {}


def test_different_first_tokens_missing_figures_and_reports_are_said() -> None:
    found = notes(side("ours", reported=False), side("theirs", reported=True, cached=None, ttft="b"))
    assert found["ttft"] == "different definitions. ours: a; theirs: b"
    assert found["cached"] == "only of calls that tell it. theirs: 3 of 3 calls do not tell cached tokens"
    assert "what became of the chain" in found["reused"]
    assert found["call_overhead"] == "theirs: not told"
    assert "in" not in found and "cost" not in found


def test_a_first_token_that_one_does_not_tell_is_no_difference() -> None:
    assert "ttft" not in notes(side("a", reported=False), Side("b", Figures(), ""))
