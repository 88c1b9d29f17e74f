"""Export: every event, every column, no formulas, bounded memory."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import msgspec
import pyarrow
import pytest
from pyarrow import parquet

from agent_core.errors import UsageError
from agent_core.telemetry import events as ev
from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.export.columns import columns, row
from agent_core.telemetry.export.files import WRITERS, export, parse_since
from agent_core.telemetry.journal.layout import journal_dir
from agent_core.telemetry.journal.reader import read_ndjson
from agent_core.telemetry.journal.sink import JournalSink
from tests.support.telemetry.scene import EPOCH_NS, Scene

SOURCE, OTHER = "h000000-1-aaaaaa", "h000000-2-bbbbbb"
DAY_MS = 24 * 3600 * 1000
NOW_NS = EPOCH_NS + 10 * DAY_MS * 1_000_000


def session(state_dir: Path, source: str, name: str, model: str) -> Scene:
    sink = JournalSink(state_dir, source)
    scene = Scene(sink, source=source, session=name)
    scene.start_session("label")
    scene.open_connection()
    for _ in range(2):
        scene.start_turn()
        scene.call(sent={"model": model}, service_stages_ms={"render": 0.5, "novel": 2.0}, chunk_gaps={3: 4})
        scene.tool(5)
        scene.finish_turn()
        scene.wait(DAY_MS)
    scene.emit(
        ev.ServiceCall(response_id=f"resp_{name}_call_2", stages_ms={"state": 1.0}, new_tokens=1, reused_tokens=2)
    )
    sink.close(10)
    return scene


def ndjson(state_dir: Path, **options: Any) -> list[ev.Event]:
    out = io.BytesIO()
    report = export(state_dir, out, format="ndjson", now_ns=NOW_NS, **options)
    lines = out.getvalue().splitlines()
    assert report.events == len(lines)
    return [msgspec.json.decode(line, type=ev.AnyEvent) for line in lines]


def table(state_dir: Path) -> list[dict[str, str]]:
    out = io.BytesIO()
    export(state_dir, out, format="csv", now_ns=NOW_NS)
    return list(csv.DictReader(io.StringIO(out.getvalue().decode())))


def test_ndjson_is_the_events_one_a_line(tmp_path: Path) -> None:
    scene = session(tmp_path, SOURCE, "one", "gpt-5")
    out = io.BytesIO()
    assert export(tmp_path, out, format="ndjson", now_ns=NOW_NS).events == len(scene.events)
    assert out.getvalue() == b"".join(encode_event(event) + b"\n" for event in scene.events)
    path = tmp_path / "out.ndjson"
    path.write_bytes(out.getvalue())
    assert list(read_ndjson(path)) == scene.events, "an export can be replayed"


def test_filters(tmp_path: Path) -> None:
    one = session(tmp_path, SOURCE, "one", "gpt-5")
    two = session(tmp_path, OTHER, "two", "gpt-5-mini")
    everything = ndjson(tmp_path)
    assert len(everything) == len(one.events) + len(two.events)
    assert ndjson(tmp_path, session="two") == [event for event in two.events if event.session == "two"]
    middle = one.events[len(one.events) // 2].time
    late = [event for scene in (one, two) for event in scene.events if event.time >= middle]
    assert sorted(ndjson(tmp_path, since=middle), key=str) == sorted(late, key=str)
    assert late[0].time[:10] in {event.time[:10] for event in everything if event.time < middle}
    of_mini = ndjson(tmp_path, model="gpt-5-mini")
    assert [event for event in two.events if event.call or isinstance(event, ev.ServiceCall)] == of_mini
    assert len(of_mini) == 7
    assert ndjson(tmp_path, model="nobody") == []
    assert ndjson(tmp_path, model="gpt-5", session="two") == []


def test_csv_has_every_field_of_every_event(tmp_path: Path) -> None:
    scene = session(tmp_path, SOURCE, "one", "gpt-5")
    rows = table(tmp_path)
    assert len(rows) == len(scene.events)
    for shown, event in zip(rows, scene.events, strict=True):
        assert set(row(event)) <= set(columns())
        for name, value in row(event).items():
            expected = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else None
            assert shown[name] == (expected or (value if isinstance(value, str) else repr(value)))
        assert {name for name, text in shown.items() if text} == set(row(event))
    completed = next(shown for shown in rows if shown["type"] == "call.completed")
    assert (completed["service_stages_ms.render"], completed["service_stages_ms"]) == ("0.5", '{"novel":2.0}')
    finished = next(shown for shown in rows if shown["type"] == "turn.finished")
    parts = [float(text) for name, text in finished.items() if name.startswith("stages_ms.") and text]
    assert sum(parts) == pytest.approx(float(finished["duration_ms"]))
    assert completed["time"].endswith("Z")
    assert len(completed["time"]) == len("2026-11-30T00:53:20.000000Z"), "microseconds"


def test_unknown_is_empty_not_zero(tmp_path: Path) -> None:
    sink = JournalSink(tmp_path, SOURCE)
    scene = Scene(sink)
    scene.start_turn()
    scene.complete(scene.send(), 5, input_tokens=7, output_tokens=0)
    scene.finish_turn()
    sink.close(10)
    completed = next(shown for shown in table(tmp_path) if shown["type"] == "call.completed")
    assert (completed["cached_tokens"], completed["ttft_ms"], completed["output_tokens"]) == ("", "", "0")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-2+3", "@SUM(A1)", "\tx", "\rx"])
def test_text_is_no_formula(tmp_path: Path, text: str) -> None:
    sink = JournalSink(tmp_path, SOURCE)
    scene = Scene(sink)
    scene.emit(ev.ConnectionFallback(cause=text))
    sink.close(10)
    (shown,) = table(tmp_path)
    assert shown["cause"] == f"'{text}".replace("\r", "")  # control characters are taken out besides


def test_commas_quotes_and_newlines_survive(tmp_path: Path) -> None:
    sink = JournalSink(tmp_path, SOURCE)
    Scene(sink).emit(ev.ConnectionFallback(cause='a, "b"\nc — ü'))
    sink.close(10)
    (shown,) = table(tmp_path)
    assert shown["cause"] == 'a, "b"\nc — ü'


def test_the_export_of_a_killed_process_ends_what_it_left(tmp_path: Path) -> None:
    sink = JournalSink(tmp_path, SOURCE)
    scene = Scene(sink)
    scene.start_turn()
    scene.send()
    sink.close(10)
    statuses = [event.status for event in ndjson(tmp_path) if isinstance(event, ev.CallCompleted | ev.TurnFinished)]
    assert statuses == ["interrupted", "interrupted"]


def test_parquet_without_its_package_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    session(tmp_path, SOURCE, "one", "gpt-5")
    with pytest.raises(UsageError) as caught:
        export(tmp_path, io.BytesIO(), format="parquet", now_ns=NOW_NS)
    assert "pyarrow" in caught.value.message
    assert caught.value.hint is not None


def test_parquet_holds_the_same_rows(tmp_path: Path) -> None:
    scene = session(tmp_path, SOURCE, "one", "gpt-5")
    out = io.BytesIO()
    assert export(tmp_path, out, format="parquet", now_ns=NOW_NS).events == len(scene.events)
    read = parquet.read_table(pyarrow.BufferReader(out.getvalue()))
    assert read.column_names == list(columns())
    kept = [{name: value for name, value in cells.items() if value is not None} for cells in read.to_pylist()]
    assert kept == [row(event) for event in scene.events]


@pytest.mark.parametrize("cached", [3_000, -7, (1 << 40) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_suspect_figures_stand_in_every_format_with_their_names(tmp_path: Path, cached: int) -> None:
    scene = Scene(JournalSink(tmp_path, SOURCE), source=SOURCE, session="one")
    scene.start_session("label")
    scene.start_turn()
    scene.call(input_tokens=100, cached_tokens=cached)
    scene.finish_turn()
    for format, writer in WRITERS.items():
        out = io.BytesIO()
        assert writer(iter(scene.events), out) == len(scene.events), format
        if format == "parquet":
            rows = parquet.read_table(pyarrow.BufferReader(out.getvalue())).to_pylist()
            told = [(row["cached_tokens"], row["suspect"]) for row in rows if row["type"] == "call.completed"]
            assert told == [(min(cached, (1 << 63) - 1), "cached_tokens")]  # what a column of 64 bits can hold
        else:
            assert str(cached) in out.getvalue().decode() and "cached_tokens" in out.getvalue().decode()


def test_an_unreadable_journal_is_a_notice(tmp_path: Path) -> None:
    session(tmp_path, SOURCE, "one", "gpt-5")
    (journal_dir(tmp_path) / "2026-11-30-garbage.db").write_bytes(b"no database " * 400)
    report = export(tmp_path, io.BytesIO(), format="csv", now_ns=NOW_NS)
    assert report.events
    assert len(report.notices) == 1


def test_no_state_directory_is_an_empty_export(tmp_path: Path) -> None:
    assert ndjson(tmp_path / "nothing") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-30", "2026-11-30T00:00:00.000000Z"),
        ("2026-11-30T10:00:00Z", "2026-11-30T10:00:00.000000Z"),
        ("2026-11-30T10:00:00.5+02:00", "2026-11-30T08:00:00.500000Z"),
        ("90m", "2026-12-09T23:23:20.000000Z"),
        ("7d", "2026-12-03T00:53:20.000000Z"),
        ("1w", "2026-12-03T00:53:20.000000Z"),
        ("24h", "2026-12-09T00:53:20.000000Z"),
    ],
)
def test_since(text: str, expected: str) -> None:
    assert parse_since(text, NOW_NS) == expected


@pytest.mark.parametrize("text", ["yesterday", "", "7", "d", "-7d", "2026-13-01", "7y"])
def test_a_since_that_means_nothing_says_what_is_expected(text: str) -> None:
    with pytest.raises(UsageError, match="expected a date"):
        parse_since(text, NOW_NS)


def test_an_unknown_format_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    out = io.BytesIO()
    with pytest.raises(UsageError, match="csv, ndjson, parquet"):
        export(tmp_path, out, format="xlsx", now_ns=NOW_NS)
    assert out.getvalue() == b""
