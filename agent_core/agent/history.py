"""The session's history: an append-only log of items, in memory and on disk, that can always rebuild a full input.

One file per session, JSON lines with checksums: a `session` header, then `item` and `turn` records in the order they
happened. A record is written before its effect is acted on, in one `write`, so a killed process leaves whole lines and
at most one torn last line, which loading cuts off. A damaged line costs itself: it stays where it is, is left out, and
a `note` says so; a record of a kind that this version does not know is passed over. A `compacted` record starts the
context anew: what is before it stays in the file and is sent no more. The `History` owns its file; only the hosting
process writes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from agent_core.agent.calls import item_type
from agent_core.agent.mending import mended
from agent_core.agent.record_lines import Line, parted, sealed
from agent_core.clock import rfc3339
from agent_core.errors import StateError
from agent_core.protocol.item_log import Items
from agent_core.text import to_json


class SessionHeader(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="session"):
    """First line of the file. `created` is RFC 3339, `roots` absolute folders. `base_url` is the service's, "" the
    embedded one's; None: not known. `provider` is its name, "" where none was named."""

    v: int = 1
    id: str
    created: str
    roots: tuple[str, ...]
    model: str
    base_url: str | None = None
    provider: str = ""


class ItemRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="item"):
    item: msgspec.Raw
    turn: str | None = None


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="turn"):
    """A turn's start (`status` "started") or its end."""

    turn: str
    status: str
    text: str = ""


class CompactedRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="compacted"):
    """`items` take the place of all items before them. `how`: standalone (by the service) or local."""

    items: list[msgspec.Raw]
    how: str
    turn: str | None = None


class TitleRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="title"):
    """The title that a user gave; the last one counts."""

    title: str


class NoteRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="note"):
    """Something that a person is to know of this file. `lines`: the damaged lines it tells of."""

    text: str
    lines: tuple[int, ...] = ()


Record = SessionHeader | ItemRecord | TurnRecord | CompactedRecord | TitleRecord | NoteRecord


class _Kind(msgspec.Struct):
    kind: str


_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
_kind_decoder = msgspec.json.Decoder(_Kind)
_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in Record.__args__)


class History:
    """`items` is the conversation so far, oldest first, with the context from `items.start` on; `turn_of` the turn of
    each item ("" unknown); `turns` the records of turns; `title` "" until one is given; `notes` what the file says of
    itself, `damaged` the numbers of the lines that are left out."""

    def __init__(self, path: Path, header: SessionHeader) -> None:
        self.path, self.header = path, header
        self.turns: list[TurnRecord] = []
        self.title = ""
        self.notes: list[NoteRecord] = []
        self.damaged: list[int] = []
        self.items = Items()
        self.turn_of: list[str] = []
        self._fd: int | None = None
        self._whole_bytes = 0

    @classmethod
    def create(cls, folder: Path, header: SessionHeader) -> History:
        """Start a file for a new session in `folder` (made if missing). Raises StateError."""
        history = cls(folder / f"{header.id}.jsonl", header)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            history._fd = os.open(history.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise StateError(
                f"cannot write the session file {history.path}: {error.strerror}",
                code="state_unwritable",
                hint="set XDG_STATE_HOME to a folder you can write to",
            ) from error
        history._write(header)
        return history

    @classmethod
    def load(cls, path: Path) -> History:
        """Read a session back and open it for appending; a torn last line is cut off. What is found damaged for the
        first time gets a note. Raises StateError."""
        history = cls.read(path)
        history._fd = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.ftruncate(history._fd, history._whole_bytes)
        if note := history._note_of_damage():
            history.append_record(note)
        return history

    @classmethod
    def read(cls, path: Path) -> History:
        """Read a session to look at; it can't be appended to. A torn last line is left out. Raises StateError."""
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise StateError(
                f"no session {path.stem}", code="state_missing", hint="`loopline sessions` lists them"
            ) from None
        except OSError as error:
            raise StateError(f"cannot read {path}: {error.strerror}", code="state_unreadable") from error
        whole = data.rfind(b"\n") + 1
        lines = [(line.number, _record(line)) for line in parted(data[:whole])]
        records = [record for _, record in lines if record is not None]
        header = next((record for record in records if isinstance(record, SessionHeader)), None)
        if header is None and not any(isinstance(record, ItemRecord | CompactedRecord) for record in records):
            raise StateError(
                f"{path}: holds no session that can be read",
                code="state_damaged",
                hint=f"`loopline sessions delete {path.stem}` removes it",
            )
        history = cls(path, header or _lost_header(path))
        for number, record in lines:
            if record is None:
                history._leave_out(number)
            elif record is not _PASSED_OVER:
                history._remember(record)
        if history.damaged:
            history._mend()
        history._whole_bytes = whole
        return history

    def append(self, items: Iterable[bytes], turn: str | None = None) -> None:
        """Add encoded items (one JSON object each): first to the file, then to memory. Raises StateError.

        Memory keeps the very bytes, since a chain is continued by their digest; the file holds one line for each.
        """
        if not (items := list(items)):
            return
        self._write(*(ItemRecord(item=msgspec.Raw(_one_line(item)), turn=turn) for item in items))
        for item in items:
            self._add(item, turn)

    def compact(self, items: Sequence[bytes], how: str, turn: str | None = None) -> None:
        """Let `items` stand for everything so far. Raises StateError."""
        self._write(CompactedRecord(items=[msgspec.Raw(_one_line(item)) for item in items], how=how, turn=turn))
        self._replace(items, turn)

    def context(self) -> list[bytes]:
        """The items that a full input has."""
        return self.items.raw(self.items.start)

    def mark_turn(self, turn: str, status: str, text: str = "") -> None:
        """Record that a turn started or ended. Raises StateError."""
        self.append_record(TurnRecord(turn=turn, status=status, text=text))

    def append_record(self, record: TurnRecord | TitleRecord | NoteRecord) -> None:
        """Raises StateError."""
        self._write(record)
        self._remember(record)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _leave_out(self, number: int) -> None:
        """A line is damaged. Reasoning right before it led to what is lost; a service refuses it alone."""
        if number not in self.damaged:
            self.damaged.append(number)
        while len(self.items) and item_type(self.items.raw(len(self.items) - 1)[0]) == "reasoning":
            self._use(self.items.raw(0)[:-1])
            self.turn_of.pop()

    def _mend(self) -> None:
        start = self.items.start
        self._use([*self.items.raw(0)[:start], *mended(self.items.raw(start))])

    def _use(self, items: Sequence[bytes]) -> None:
        start, self.items = self.items.start, Items(items)
        self.items.start = min(start, len(items))

    def told(self) -> list[str]:
        """What a person is to know of this file, whether or not it is written in it yet."""
        new = self._note_of_damage()
        return [note.text for note in (*self.notes, *([new] if new else ()))]

    def _note_of_damage(self) -> NoteRecord | None:
        """What to say of the damaged lines that no note tells of yet."""
        told = {number for note in self.notes for number in note.lines}
        new = [number for number in self.damaged if number not in told]
        if not new:
            return None
        lines = f"line {new[0]} is" if len(new) == 1 else f"lines {', '.join(map(str, new[:20]))} are"
        text = f"{self.path}: {lines} damaged and left out of this session; the rest is here, the file keeps all"
        return NoteRecord(text=text, lines=tuple(new))

    def _remember(self, record: Record) -> None:
        if isinstance(record, ItemRecord):
            self._add(bytes(record.item), record.turn)
        elif isinstance(record, NoteRecord):
            self.notes.append(record)
        elif isinstance(record, CompactedRecord):
            self._replace([bytes(item) for item in record.items], record.turn)
        elif isinstance(record, TurnRecord):
            self.turns.append(record)
        elif isinstance(record, TitleRecord):
            self.title = record.title

    def _replace(self, items: Sequence[bytes], turn: str | None) -> None:
        self.items.start = len(self.items)
        self.items.extend(items)
        self.turn_of.extend([turn or ""] * len(items))

    def _add(self, item: bytes, turn: str | None) -> None:
        """A compaction that the service put into a reply stands for all before it (OpenAI guide "Compaction")."""
        if b'"compaction"' in item and item_type(item) == "compaction":
            self.items.start = len(self.items)
        self.items.append(item)
        self.turn_of.append(turn or "")

    def _write(self, *records: Record) -> None:
        if self._fd is None:
            raise StateError(f"{self.path} is closed", code="state_closed")
        data = b"".join(sealed(to_json(record)) for record in records)
        try:
            written = os.write(self._fd, data)
        except OSError as error:
            raise StateError(f"cannot write {self.path}: {error.strerror}", code="state_unwritable") from error
        if written != len(data):
            raise StateError(f"cannot write {self.path}: the disk is full", code="state_unwritable")


def _record(line: Line) -> Record | None:
    """None: damaged. `_PASSED_OVER`: of a kind that this version does not know."""
    if line.record is None:
        return None
    try:
        return _decoder.decode(line.record)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return _PASSED_OVER if _kind_decoder.decode(line.record).kind not in _KINDS else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


_PASSED_OVER = NoteRecord(text="")


def _lost_header(path: Path) -> SessionHeader:
    """What stands in for a header that is lost: the session is then opened where its user says."""
    return SessionHeader(id=path.stem, created=rfc3339(path.stat().st_mtime_ns), roots=(), model="")


def _one_line(item: bytes) -> bytes:
    return msgspec.json.format(item, indent=-1) if b"\n" in item else item
