"""A damaged SQLite file is set aside and made anew from what can still be read of it; a person is told.

Rows are read one by one: from the front, from the back, past damaged pages, and by the keys that an index still knows.
Where the first page is gone, the schema of a fresh file stands in for it, in a copy. The damaged file stays beside the
new one, for whoever wants to look further.

SQLite keeps no checksums: a byte that changes within a value and leaves the file in order is read as another value, and
nobody can tell. Rows get none from us either, since every reader and export would have to know it, and disks keep their
own; what is written by hand (sessions, intents, checkpoints) has one a record.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import sqlite3
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

log = logging.getLogger(__name__)

Prepare = Callable[[Path], None]
"""Makes a fresh, closed file with the tables of this version."""
Row = tuple[object, ...]

MAX_CHECKED_BYTES = 512 << 20
"""A larger file is not checked before it is opened, for that takes seconds; damage is then met when it is read."""
MAX_THOROUGH_BYTES = 16 << 20
"""Up to here the order of keys and what indexes say is checked too, which takes four times as long."""
_FAR = 1 << 20
_MAX_LOOKS = 2_000
_PAGE_SIZE_AT, _PAGES_AT, _FREE_AT, _CHANGES_AT, _VALID_FOR_AT = 16, 28, 32, 24, 92
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def mend(path: Path, prepare: Prepare) -> str | None:
    """Mend a file that is damaged; what a person is to know, None if nothing is. Nobody else may have it open.

    Raises OSError, and sqlite3.Error if even a fresh file can't be made.
    """
    if not path.exists() or path.stat().st_size > MAX_CHECKED_BYTES:
        return None
    lost = lost_frames(Path(f"{path}-wal"))
    trouble = trouble_of(path)
    if trouble is None and not lost:
        return None
    aside = _free_name(path)
    if trouble is None:
        shutil.copy2(f"{path}-wal", f"{aside}-wal")
        with contextlib.closing(_opened(path)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        note = f"{path}: the end of its write-ahead log is damaged; the last changes before the stop are lost"
    else:
        for suffix in ("", "-wal"):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{path}{suffix}").rename(f"{aside}{suffix}")
        Path(f"{path}-shm").unlink(missing_ok=True)
        kept = _made_anew(path, aside, prepare)
        told = ", ".join(f"{count} of {table}" for table, count in kept.items() if count) or "none"
        note = f"{path}: damaged ({trouble}); rows that could be read back: {told}"
    note += f". What was there is kept as {aside.name}{'-wal' if trouble is None else ''}"
    log.warning("%s", note)
    return note


def trouble_of(path: Path) -> str | None:
    """What is wrong with a file, in a few words; None if nothing is, or if that can't be told now."""
    size = path.stat().st_size
    if not size:
        return "empty"
    check = "integrity_check" if size <= MAX_THOROUGH_BYTES else "quick_check"
    try:
        with contextlib.closing(_looked_at(path)) as db:
            found = db.execute(f"PRAGMA {check}(1)").fetchone()
    except UnicodeDecodeError:
        return "its schema is no text"
    except sqlite3.DatabaseError as error:
        return str(error) if is_damage(error) else None
    told = str(found[0]) if found else "no answer"
    return None if told == "ok" else told.splitlines()[-1][:120]


def is_damage(error: BaseException) -> bool:
    """Whether SQLite says that a file is damaged, rather than busy, full or not there. Where it quotes what is no text,
    its message can't be had, but for this error."""
    if isinstance(error, UnicodeDecodeError):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, sqlite3.DatabaseError) and code is not None and (code & 0xFF) in _DAMAGE


def out_of_order(path: str) -> sqlite3.DatabaseError:
    """For rows that do not come in the order of their keys, of which SQLite says nothing: reading on would not end."""
    error = sqlite3.DatabaseError(f"{path}: rows are out of order")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def rows_of(path: Path, prepare: Prepare, scratch: Path) -> dict[str, list[Row]]:
    """All rows that can be read, by table of this version; `scratch` is a folder for a copy that may be needed."""
    pattern = scratch / "pattern.db"
    prepare(pattern)
    with contextlib.closing(_opened(pattern)) as fresh:
        tables = [
            str(name)
            for (name,) in fresh.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
            if not str(name).startswith("sqlite_")
        ]
    copy = scratch / "copy.db"
    shutil.copyfile(path, copy)
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(f"{path}-wal", f"{copy}-wal")
    found = _all_rows(copy, tables)
    if not any(found.values()) and _transplant(pattern, copy):
        found = _all_rows(copy, tables)
    return found


def lost_frames(wal: Path) -> int:
    """Frames of a write-ahead log that SQLite passes over though whole ones follow: 0 but for a damaged log.

    Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
    """
    try:
        data = wal.read_bytes()
    except OSError:
        return 0
    if len(data) < 32:
        return 0
    magic, _, size = struct.unpack_from(">III", data)
    frames = max(0, (len(data) - 32) // (size + 24)) if 512 <= size <= 65536 else 0
    if magic not in (0x377F0682, 0x377F0683):
        return 1 if any(data) else 0
    salt, big = data[16:24], magic == 0x377F0683
    sums = _checksum(data[:24], (0, 0), big)
    if sums != struct.unpack_from(">II", data, 24):
        return frames
    for number in range(frames):
        start = 32 + number * (size + 24)
        whole = data[start + 8 : start + 16] == salt
        if whole:
            sums = _checksum(data[start : start + 8], sums, big)
            sums = _checksum(data[start + 24 : start + 24 + size], sums, big)
            whole = sums == struct.unpack_from(">II", data, start + 16)
        if not whole:
            later = range(number + 1, frames)
            return sum(data[32 + at * (size + 24) + 8 : 32 + at * (size + 24) + 16] == salt for at in later)
    return 0


def _checksum(data: bytes, sums: tuple[int, int], big: bool) -> tuple[int, int]:
    words = array("I", data)
    if big:
        words.byteswap()
    first, second = sums
    for at in range(0, len(words), 2):
        first = (first + words[at] + second) & 0xFFFFFFFF
        second = (second + words[at + 1] + first) & 0xFFFFFFFF
    return first, second


def _made_anew(path: Path, aside: Path, prepare: Prepare) -> dict[str, int]:
    """A fresh file at `path` with the rows of the damaged one; how many, by table."""
    scratch = path.with_name(f"{path.name}.mending")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(mode=0o700)
    try:
        found = rows_of(aside, prepare, scratch)
        fresh = scratch / "fresh.db"
        prepare(fresh)
        kept: dict[str, int] = {}
        with contextlib.closing(sqlite3.connect(fresh)) as db:
            for table, rows in found.items():
                kept[table] = sum(_insert(db, table, row) for row in rows)
            db.commit()
        fresh.chmod(0o600)
        fresh.rename(path)
        return kept
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _insert(db: sqlite3.Connection, table: str, row: Row) -> bool:
    """False for a row that the table does not take."""
    try:
        return bool(db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", row).rowcount)
    except sqlite3.Error:
        return False


def _all_rows(path: Path, tables: Iterable[str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for table in tables:
        try:
            with contextlib.closing(_opened(path)) as db:
                found[table] = _rows(db, table)
        except (sqlite3.Error, UnicodeDecodeError):
            found[table] = []
    return found


def _rows(db: sqlite3.Connection, table: str) -> list[Row]:
    keys = _key_columns(db, table)
    order, many = ", ".join(keys), len(keys)
    found: dict[Row, Row] = {}

    def take(clause: str, *values: object) -> tuple[bool, Row | None]:
        """Add rows until damage is met: whether none was, and the key reached."""
        key: Row | None = None
        try:
            for row in db.execute(f"SELECT {order}, * FROM {table} {clause}", values):
                key = row[:many]
                found[key] = row[many:]
        except (sqlite3.Error, UnicodeDecodeError):
            return False, key
        return True, key

    whole, first = take(f"ORDER BY {order}")
    if whole:
        return list(found.values())
    _, last = take("ORDER BY " + ", ".join(f"{key} DESC" for key in keys))
    if keys == ["rowid"]:
        low = _rowid(first) if first is not None else 0
        _take_between(take, low, _rowid(last) if last is not None else low + _FAR)
    for key in list(_keys_of_indexes(db, table, keys)):
        if key not in found:
            take("WHERE " + " AND ".join(f"{name} = ?" for name in keys), *key)
    return [found[key] for key in sorted(found, key=repr)] if many > 1 else list(found.values())


def _take_between(take: Callable[..., tuple[bool, Row | None]], low: int, high: int) -> None:
    """Rows between two places of damage: look in the middle of what is unknown, both ways, again and again."""
    gaps = [(low, high)]
    for _ in range(_MAX_LOOKS):
        if not gaps:
            return
        low, high = gaps.pop()
        if high - low <= 1:
            continue
        middle = (low + high) // 2
        whole, reached = take("WHERE rowid >= ? AND rowid < ? ORDER BY rowid", middle, high)
        if not whole:
            gaps.insert(0, (_rowid(reached) if reached is not None else middle, high))
        whole, reached = take("WHERE rowid > ? AND rowid < ? ORDER BY rowid DESC", low, middle)
        if not whole:
            gaps.insert(0, (low, _rowid(reached) if reached is not None else middle))


def _rowid(key: Row) -> int:
    return int(str(key[0]))


def _keys_of_indexes(db: sqlite3.Connection, table: str, keys: list[str]) -> Iterator[Row]:
    with contextlib.suppress(sqlite3.Error):
        for _, name, *_ in db.execute(f"PRAGMA index_list({table})").fetchall():
            for direction in ("ASC", "DESC"):
                first = db.execute(f"PRAGMA index_info({name})").fetchone()
                sql = f"SELECT {', '.join(keys)} FROM {table} INDEXED BY {name} ORDER BY {first[2]} {direction}"
                with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
                    yield from db.execute(sql)


def _key_columns(db: sqlite3.Connection, table: str) -> list[str]:
    """`rowid`, or the primary key of a table without."""
    try:
        db.execute(f"SELECT rowid FROM {table} LIMIT 0")
    except sqlite3.OperationalError:
        columns = db.execute(f"PRAGMA table_info({table})").fetchall()
        return [str(column[1]) for column in sorted(columns, key=_place_in_key) if column[5]]
    return ["rowid"]


def _place_in_key(column: Row) -> int:
    return int(str(column[5]))


def _transplant(pattern: Path, damaged: Path) -> bool:
    """Put the first page of a fresh file, header and schema, over that of a damaged copy."""
    page = pattern.read_bytes()
    size = struct.unpack_from(">H", page, _PAGE_SIZE_AT)[0] or 0
    size = 65536 if size == 1 else size
    data = bytearray(damaged.read_bytes())
    if len(data) < size:
        return False
    data[:size] = page[:size]
    struct.pack_into(">I", data, _PAGES_AT, len(data) // size)
    struct.pack_into(">II", data, _FREE_AT, 0, 0)
    data[_VALID_FOR_AT : _VALID_FOR_AT + 4] = data[_CHANGES_AT : _CHANGES_AT + 4]
    damaged.write_bytes(data)
    for suffix in ("-wal", "-shm"):
        Path(f"{damaged}{suffix}").unlink(missing_ok=True)
    return True


def lenient_text(data: bytes) -> str:
    """For `Connection.text_factory`: a damaged character costs itself, not the whole answer."""
    return data.decode("utf-8", "replace")


def _looked_at(path: Path) -> sqlite3.Connection:
    """Read-only, so that a write-ahead log stays as it is."""
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1.0, isolation_level=None)
    db.text_factory = lenient_text
    return db


def _opened(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=1.0, isolation_level=None)
    db.text_factory = lenient_text
    return db


def _free_name(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists() or Path(f"{aside}-wal").exists():
        number += 1
    return aside
