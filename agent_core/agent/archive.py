"""The sessions on disk: listing, titles, copies and deletion.

The owner of a session's file is its host; what a process hosts is only looked at here, never written.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from agent_core.agent.calls import role_of, text_of
from agent_core.agent.checkpoints.store import forget
from agent_core.agent.history import History, SessionHeader, TitleRecord
from agent_core.clock import new_id
from agent_core.control.lock import Holder, SessionLock, read_holder
from agent_core.errors import StateError, UsageError
from agent_core.text import real_name


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A session as listed. `title` is the user's, else the first line of what was asked first. `turns` counts them,
    `status` is how the last ended ("" without one), `problem` says why a file can't be read, else ""."""

    id: str
    title: str = ""
    created: str = ""
    model: str = ""
    roots: tuple[str, ...] = ()
    turns: int = 0
    items: int = 0
    status: str = ""
    host_pid: int | None = None
    """Process that hosts it now; None: nobody does."""
    problem: str = ""
    damaged: int = 0
    """Lines of its file that can't be read and are left out."""


class Archive:
    """`folder` is where the histories lie."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def entries(self) -> list[Entry]:
        """Newest first; a file that can't be read is listed with its problem."""
        return sorted((self._entry(path) for path in self._folder.glob("*.jsonl")), key=_by_time, reverse=True)

    def entry(self, session: str) -> Entry:
        """One session as listed. Raises as `path` does."""
        return self._entry(self.path(session))

    def path(self, session: str) -> Path:
        """The file of a session. Raises UsageError for what is no id, StateError if there is none."""
        if not session.replace("_", "").isalnum():
            raise UsageError(f"no session is named {session[:80]!r}", hint="`loopline sessions` lists them")
        path = self._folder / f"{session}.jsonl"
        if not path.is_file():
            raise StateError(f"no session {session}", code="state_missing", hint="`loopline sessions` lists them")
        return path

    def load(self, session: str) -> History:
        """A session to look at, without opening it for writing."""
        return History.read(self.path(session))

    def rename(self, session: str, title: str) -> None:
        """Raises SessionHeld if a process hosts it."""
        if not title.strip():
            raise UsageError("the title is empty")
        path = self.path(session)
        lock = self._lock(session)
        try:
            history = History.load(path)
            history.append_record(TitleRecord(title=title.strip()[:200]))
            history.close()
        finally:
            lock.release()

    def fork(self, session: str, created: str) -> str:
        """Copy a session's items into a new one; returns its id."""
        source = self.load(session)
        header = msgspec.structs.replace(source.header, id=new_id("sess"), created=created)
        copy = History.create(self._folder, header)
        copy.append(source.items.raw(0)[: source.items.start])
        if source.items.start:
            copy.compact(source.context(), "fork")
        else:
            copy.append(source.context())
        copy.append_record(TitleRecord(title=f"fork of {source.title or session}"))
        copy.close()
        return header.id

    def delete(self, session: str) -> None:
        """Raises SessionHeld if a process hosts it."""
        path = self.path(session)
        lock = self._lock(session)
        try:
            path.unlink()
            path.with_suffix(".grants").unlink(missing_ok=True)
            forget(self._folder.parent / "checkpoints" / f"{session}.log")
        finally:
            lock.release()

    def _lock(self, session: str) -> SessionLock:
        return SessionLock(self._folder / f"{session}.lock", Holder(pid=0, since=""))

    def _entry(self, path: Path) -> Entry:
        holder = read_holder(path.with_suffix(".lock"))
        pid = holder.pid if holder is not None else None
        try:
            history = History.read(path)
        except StateError as error:
            return Entry(id=path.stem, host_pid=pid, problem=error.message)
        header: SessionHeader = history.header
        last = history.turns[-1] if history.turns else None
        return Entry(
            id=header.id,
            title=history.title or next(iter(first_words(history).values()), ""),
            created=header.created,
            model=header.model,
            roots=tuple(map(real_name, header.roots)),
            turns=sum(turn.status == "started" for turn in history.turns),
            items=len(history.items),
            status="" if last is None else "running" if last.status == "started" and pid else _ended(last.status),
            host_pid=pid,
            damaged=len(history.damaged),
        )


def first_words(history: History) -> Mapping[str, str]:
    """By turn, oldest first: the first line of what the user said first in it."""
    found: dict[str, str] = {}
    for item, turn in zip(history.items.raw(0), history.turn_of, strict=True):
        if turn not in found and role_of(item) == "user":
            found[turn] = text_of([item]).strip().split("\n", 1)[0][:200]
    return found


def _ended(status: str) -> str:
    return "interrupted" if status == "started" else status


def _by_time(entry: Entry) -> str:
    return entry.created
