"""Writes journals out: NDJSON, CSV, Parquet. Streams; what it holds at once does not grow with the history."""

from __future__ import annotations

import csv
import importlib
import io
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import msgspec

from agent_core.clock import rfc3339
from agent_core.errors import UsageError
from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.display import clean, escaped_json
from agent_core.telemetry.events import (
    CallCompleted,
    CallFirstDelta,
    CallFirstEvent,
    CallProgress,
    CallReported,
    CallSent,
    Event,
    ServiceCall,
)
from agent_core.telemetry.export.columns import Cell, columns, row
from agent_core.telemetry.journal.reader import Feed
from agent_core.telemetry.rollup.suspect import suspect_of

_AGO = re.compile(r"(\d{1,6})([mhdw])\Z")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
MAX_INTEGER = (1 << 63) - 1
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


CallEvent = CallSent | CallFirstEvent | CallFirstDelta | CallProgress | CallCompleted | CallReported


class Wanted:
    """Which events to take; empty strings take all.

    `since` is an RFC 3339 time in UTC. `model` takes the events of calls to that model, which are `call.*` and the
    `service.call` of their responses; events that belong to no call have no model and are left out then.
    """

    def __init__(self, *, since: str = "", session: str = "", model: str = "") -> None:
        self._since, self._session, self._model = since, session, model
        self._calls: set[str] = set()
        self._responses: set[str] = set()

    def __call__(self, event: Event) -> bool:
        if self._model and not self._is_of_model(event):
            return False
        return event.time >= self._since and self._session in ("", event.session)

    def _is_of_model(self, event: Event) -> bool:
        if isinstance(event, ServiceCall):
            return event.response_id in self._responses
        if event.call is None or not isinstance(event, CallEvent):
            return False
        if isinstance(event, CallSent | CallReported):
            (self._calls.add if event.model == self._model else self._calls.discard)(event.call)
        if event.call not in self._calls:
            return False
        if isinstance(event, CallCompleted | CallReported) and event.response_id is not None:
            self._responses.add(event.response_id)
        return True


def parse_since(text: str, now_ns: int) -> str:
    """`2026-11-30`, an RFC 3339 time, or an age (`90m`, `24h`, `7d`, `2w`) as the RFC 3339 time in UTC it means.

    Raises `UsageError`. A date or time without a zone is UTC.
    """
    ago = _AGO.match(text)
    if ago is not None:
        return rfc3339(now_ns - int(ago[1]) * _UNITS[ago[2]] // timedelta(microseconds=1) * 1000)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"--since {text!r}: expected a date (2026-11-30), a time (2026-11-30T10:00:00Z) or an age (90m, 24h, 7d)"
        ) from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def events(feed: Feed, wanted: Callable[[Event], bool]) -> Iterator[Event]:
    """Everything that the feed has now, as far as wanted. Events of one source come in their order."""
    while found := feed.poll():
        for event in found:
            if wanted(event):
                yield event


def write_ndjson(stream: Iterator[Event], out: BinaryIO) -> int:
    """One event object a line; gives how many. A `call.completed` with figures that cannot be right names them in
    `suspect`."""
    count = 0
    for event in stream:
        out.write(escaped_json(_marked(event).decode()).encode() + b"\n")
        count += 1
    return count


def write_csv(stream: Iterator[Event], out: BinaryIO) -> int:
    """A header and one row per event, UTF-8. Text that a spreadsheet would run as a formula gets a leading `'`."""
    names = columns()
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    count = 0
    try:
        writer.writerow(names)
        for event in stream:
            cells = row(event)
            writer.writerow([safe_cell(cells.get(name)) for name in names])
            count += 1
    finally:
        text.detach()
    return count


def write_parquet(stream: Iterator[Event], out: BinaryIO) -> int:
    """Zstandard-compressed columns. Raises `UsageError` if the package that writes Parquet is not installed.

    An integer beyond 64 bits, which cannot be right and is named in `suspect`, becomes the largest that a column holds.
    """
    try:
        pyarrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise UsageError(
            "Parquet needs the package pyarrow, which is not installed",
            hint="pip install pyarrow, or export csv or ndjson",
        ) from None
    kinds = {
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "boolean": pyarrow.bool_(),
        "text": pyarrow.string(),
    }
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in columns().items()])
    count = 0
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for batch in _batches(stream, 10_000):
            rows = [{name: _of_64_bits(value) for name, value in row(event).items()} for event in batch]
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
            count += len(rows)
    return count


def _of_64_bits(value: Cell) -> Cell:
    return max(-MAX_INTEGER, min(MAX_INTEGER, value)) if isinstance(value, int) else value


WRITERS: dict[str, Callable[[Iterator[Event], BinaryIO], int]] = {
    "csv": write_csv,
    "ndjson": write_ndjson,
    "parquet": write_parquet,
}


class Exported(msgspec.Struct, frozen=True):
    """How many events went out, and a line for each journal that could not be read."""

    events: int
    notices: list[str]


def export(
    state_dir: Path,
    out: BinaryIO,
    *,
    format: str,
    now_ns: int,
    since: str | None = None,
    session: str | None = None,
    model: str | None = None,
) -> Exported:
    """Write this machine's journals to `out`, which stays open. Raises `UsageError` before anything is written."""
    write = WRITERS.get(format)
    if write is None:
        raise UsageError(f"--format {format!r}: expected one of {', '.join(WRITERS)}")
    after = "" if since is None else parse_since(since, now_ns)
    feed = Feed(state_dir, since=after[:10])
    try:
        wanted = Wanted(since=after, session=session or "", model=model or "")
        return Exported(write(events(feed, wanted), out), feed.notices)
    finally:
        feed.close()


def _marked(event: Event) -> bytes:
    encoded = encode_event(event)
    if suspect := suspect_of(event):
        return encoded[:-1] + b',"suspect":' + msgspec.json.encode(suspect) + b"}"
    return encoded


def safe_cell(value: Cell) -> str:
    """A value as a cell of CSV; text that a spreadsheet would run as a formula gets a leading `'`."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = clean(value)
        return f"'{text}" if value.startswith(_FORMULA) or text.lstrip().startswith(_FORMULA) else text
    return repr(value)


def _batches(stream: Iterator[Event], size: int) -> Iterator[list[Event]]:
    batch: list[Event] = []
    for event in stream:
        batch.append(event)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
