"""A session as it lies on disk: how its turns went, and what they changed. Nothing is written."""

from __future__ import annotations

from pathlib import Path

import msgspec

from agent_core.agent.archive import first_words
from agent_core.agent.checkpoints.reading import FileChange, changes_of
from agent_core.agent.history import History
from agent_core.errors import StateError
from agent_core.hosting.port import Changes
from agent_core.hosting.resume import read_header
from agent_core.tools.workspace import text
from agent_core.tools.workspace.changes import Change, Content, Opaque, change_of
from agent_core.turns.events import TurnStatus
from agent_core.turns.views import TurnView

MAX_FILES = 200


def stored_turns(history: History) -> list[TurnView]:
    """Turns of earlier processes; one that never ended was interrupted."""
    found: dict[str, TurnView] = {}
    titles = first_words(history)
    for record in history.turns:
        if record.turn not in found:
            title = titles.get(record.turn, "")
            found[record.turn] = TurnView(turn_id=record.turn, title=title, task=title, started="")
        turn = found[record.turn]
        ended = record.status in ("completed", "failed", "cancelled")
        turn.status, turn.text = msgspec.convert(record.status if ended else "interrupted", TurnStatus), record.text
    return list(found.values())


def kept_changes(states: Path, session_id: str, turn_id: str) -> Changes:
    """What a turn came to in files, from the session's checkpoints; nothing where none are kept. Paths are relative to
    the session's first folder, whole in another one."""
    kept = changes_of(states / "checkpoints", session_id, turn_id)
    try:
        first_root = read_header(states / "sessions", session_id).roots[:1]
    except StateError:
        first_root = ()
    files = tuple(_change(change, first_root) for change in kept[:MAX_FILES])
    return Changes(files=files, more=max(0, len(kept) - MAX_FILES))


def _change(change: FileChange, first_root: tuple[str, ...]) -> Change:
    path = change.path if (change.root,) == first_root else f"{change.root}/{change.path}"
    before, after = _content(change.existed, change.before), _content(change.exists, change.after)
    return change_of(path, before, after, change.by)


def _content(there: bool, data: bytes | None) -> Content:
    decoded = text.decode(data) if data is not None else None
    return None if not there else Opaque(b"") if decoded is None else decoded[0]
