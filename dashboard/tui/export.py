"""Writing out what is listed: the events of some turns, as NDJSON that can be replayed, or as CSV."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from agent_core.errors import StateError, UsageError
from agent_core.telemetry.events import Event
from agent_core.telemetry.export.files import write_csv, write_ndjson

_WRITERS = {".ndjson": write_ndjson, ".csv": write_csv}


def export_turns(path: Path, history: Iterable[Event], turns: set[str], sessions: set[str]) -> int:
    """Write the events of `turns`, and those of their sessions that belong to no turn; how many. Blocks.

    The file's ending says how. Raises `UsageError` for another ending or a file that is there, `StateError` if it
    can't be written; what was begun is removed then.
    """
    write = _WRITERS.get(path.suffix)
    if write is None:
        raise UsageError(f"{path.name}: the name has to end in .ndjson or .csv")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError as error:
        raise UsageError(f"{path}: is there already") from error
    except OSError as error:
        raise StateError(f"{path}: can't be written ({error.strerror})") from error
    try:
        with os.fdopen(descriptor, "wb") as out:
            return write(_of_turns(history, turns, sessions), out)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StateError(f"{path}: can't be written ({error.strerror})") from error
        raise


def _of_turns(history: Iterable[Event], turns: set[str], sessions: set[str]) -> Iterator[Event]:
    for event in history:
        if event.turn in turns or (event.turn is None and event.session in sessions):
            yield event
