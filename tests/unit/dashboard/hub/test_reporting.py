"""Which turn of a session ran at an instant, found without looking at all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_core.telemetry.rollup.rows import TurnRow
from dashboard.hub.reporting import EDGE_NS, MAX_AT_ONCE, TurnTimes

SECONDS = st.integers(0, 60)
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b"]), SECONDS, st.none() | SECONDS), max_size=MAX_AT_ONCE)


def rows_of(drawn: list[tuple[str, int, int | None]]) -> dict[str, TurnRow]:
    return {
        f"t{number}": TurnRow(
            turn=f"t{number}", source="s", session=session, started_ns=start * EDGE_NS,
            ended_ns=None if length is None else (start + length) * EDGE_NS,
        )
        for number, (session, start, length) in enumerate(drawn)
    }  # fmt: skip


@given(ROWS, SECONDS)
def test_it_is_the_latest_begun_of_those_that_ran(drawn: list[tuple[str, int, int | None]], at_s: int) -> None:
    rows, at_ns = rows_of(drawn), at_s * EDGE_NS
    ran = [
        row.started_ns
        for row in rows.values()
        if row.session == "a"
        and row.started_ns <= at_ns + EDGE_NS
        and (row.ended_ns is None or at_ns <= row.ended_ns + EDGE_NS)
    ]
    found = TurnTimes(rows).at("a", at_ns)
    assert (None if found is None else rows[found].started_ns) == max(ran, default=None)


def test_of_many_that_never_ended_few_are_looked_at() -> None:
    rows = {f"t{n}": TurnRow(turn=f"t{n}", source="s", session="a", started_ns=n, ended_ns=n) for n in range(5_000)}
    rows["t0"].ended_ns = None
    assert TurnTimes(rows).at("a", 10 * EDGE_NS) is None
    assert TurnTimes(rows).at("a", 5_000) == "t4999"
