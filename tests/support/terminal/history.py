"""Journals of many calls, written straight into their files: a week of them in half a minute."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agent_core.clock import rfc3339
from agent_core.telemetry.journal.layout import CREATE, journal_dir, journal_path

CALLS_PER_TURN = 20
EVENTS_PER_CALL = 3


def write_day(state_dir: Path, day: datetime, calls: int, *, sources: int = 4) -> int:
    """One day's journals of several processes with `calls` calls in all; how many events."""
    journal_dir(state_dir).mkdir(parents=True, exist_ok=True)
    events = 0
    for number in range(sources):
        source = f"h000000-{number + 1}-{day:%m%d}00"
        path = journal_path(journal_dir(state_dir), f"{day:%Y-%m-%d}", source)
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        for statement in CREATE:
            connection.execute(statement)
        rows = list(_rows(source, day, calls // sources))
        connection.executemany("INSERT INTO event VALUES (?, ?)", rows)
        connection.execute("COMMIT")
        connection.close()
        events += len(rows)
    return events


def _rows(source: str, day: datetime, calls: int) -> Iterator[tuple[int, str]]:
    start_ns = round(day.timestamp() * 1e9)
    step_ns = 80_000_000_000_000 // max(1, calls)
    seq = 0

    def row(at_ns: int, body: str) -> tuple[int, str]:
        nonlocal seq
        seq += 1
        common = f'"v":1,"source":"{source}","seq":{seq},"time":"{rfc3339(start_ns + at_ns)}","mono_ns":{at_ns}'
        return seq, "{" + common + "," + body + "}"

    for number in range(calls):
        at_ns = number * step_ns
        turn = f"{source}_turn_{number // CALLS_PER_TURN}"
        ids = f'"session":"{source}","turn":"{turn}"'
        call = f'{ids},"call":"{source}_{number}","connection":"{source}"'
        if number % CALLS_PER_TURN == 0:
            yield row(at_ns, f'"type":"turn.started",{ids}')
        yield row(
            at_ns, f'"type":"call.sent",{call},"model":"gpt-5.5","transport":"websocket","attempt":1,"reuse":"reused",'
            '"input_items":2,"bytes_up":900,"bytes_full":30000'
        )  # fmt: skip
        yield row(
            at_ns + 20_000_000, f'"type":"call.first_delta",{call},"latency_ms":20.0,"channel":"text","ttft_ms":20.0'
        )  # fmt: skip
        yield row(
            at_ns + 80_000_000, f'"type":"call.completed",{call},"status":"completed","duration_ms":80.0,'
            '"ttft_ms":20.0,"inference_ms":60.0,"input_tokens":9000,"cached_tokens":8800,"output_tokens":50,"deltas":40'
        )  # fmt: skip
        if number % CALLS_PER_TURN == CALLS_PER_TURN - 1 or number == calls - 1:
            yield row(
                at_ns + 81_000_000, f'"type":"turn.finished",{ids},"status":"completed","duration_ms":1.0,'
                f'"stages_ms":{{}},"calls":{CALLS_PER_TURN},"tools":0'
            )  # fmt: skip


def days_ending(end: datetime, count: int) -> list[datetime]:
    """Midnights (UTC) of the last `count` days, the latest first."""
    midnight = end.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return [midnight - timedelta(days=back) for back in range(count)]
