"""The cost of emitting is measured on real parts; the figures themselves belong to the benchmark."""

from __future__ import annotations

from pathlib import Path

from agent_core.bench.emit_cost import TOKENS_PER_S, measure_emit_cost
from agent_core.bench.emitting import stream
from agent_core.telemetry import events as ev
from agent_core.telemetry.journal.layout import list_journals
from agent_core.telemetry.journal.reader import read_journal


def test_it_measures_what_really_was_written(tmp_path: Path) -> None:
    cost = measure_emit_cost(tmp_path, stream, events=300, stream_s=1.1)
    assert (cost.events, cost.lost) == (300, 0)
    assert 0 < cost.emit_us <= cost.event_us
    assert cost.delta_us > 0
    assert abs(cost.stream_share - cost.delta_us * TOKENS_PER_S / 1e6) < 1e-9
    (file,) = list_journals(tmp_path)
    written = list(read_journal(file.path))
    assert sum(isinstance(event, ev.CallSent) for event in written) == 302
    assert sum(isinstance(event, ev.CallProgress) for event in written) == 4
    (completed,) = [event for event in written if isinstance(event, ev.CallCompleted)]
    assert completed.deltas == 1.1 * TOKENS_PER_S
