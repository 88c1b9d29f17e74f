"""Which session is meant: by id, by an unambiguous prefix, by its title, or the latest of a folder. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent_core.agent.archive import Entry
from agent_core.errors import UsageError
from agent_core.telemetry.display import one_line

NAMED = 5
"""How many of several are named in the error."""


def meant(entries: Sequence[Entry], said: str) -> Entry:
    """The session that `said` names. Raises UsageError for none and for several."""
    said = said.strip()
    for found in (
        [entry for entry in entries if entry.id == said],
        [entry for entry in entries if entry.id.startswith(said) or entry.id.removeprefix("sess_").startswith(said)],
        [entry for entry in entries if entry.title.casefold() == said.casefold()],
        [entry for entry in entries if said.casefold() in entry.title.casefold()],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            listed = "; ".join(f"{entry.id} {one_line(entry.title, 40)}" for entry in found[:NAMED])
            raise UsageError(f"several sessions are meant by {one_line(said, 80)!r}", hint=listed)
    raise UsageError(f"no session is named {one_line(said, 80)!r}", hint="`loopline sessions` lists them")


def of_folder(entries: Sequence[Entry], folder: Path) -> list[Entry]:
    """The sessions that worked in a folder, newest first as given."""
    place = str(folder.resolve())
    return [entry for entry in entries if place in entry.roots and not entry.problem]


def latest(entries: Sequence[Entry], folder: Path) -> Entry:
    """Raises UsageError if the folder has none."""
    found = of_folder(entries, folder)
    if not found:
        raise UsageError("no session worked in this folder yet", hint="start one: loopline")
    return found[0]
