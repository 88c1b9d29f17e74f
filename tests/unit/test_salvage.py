"""SQLite files after bad luck: one byte, one block, the head, the tail, the write-ahead log. What can be read is there
again, what is lost is told, and nothing raises."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agent_core.responses_server.ledger import rows as ledger_rows
from agent_core.responses_server.ledger.port import Account, Intent
from agent_core.responses_server.store.port import StoredResponse
from agent_core.responses_server.store.sqlite import SqliteStore as ResponseStore
from agent_core.salvage import lenient_text, lost_frames, mend, trouble_of
from agent_core.telemetry.journal.reader import Feed
from agent_core.telemetry.journal.sink import JournalSink
from dashboard.hub.store.records import TokenRecord, TurnQuery
from dashboard.hub.store.sqlite_people import SqlitePeople
from tests.support.hub.stores import agent_scene, batch_of, running_hub, work
from tests.support.telemetry.scene import Scene

ROWS = 600
PAGE = 4096
SCHEMA = (
    "CREATE TABLE plain (n INTEGER PRIMARY KEY, text TEXT NOT NULL)",
    "CREATE TABLE keyed (name TEXT PRIMARY KEY, at INTEGER NOT NULL, body BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX keyed_at ON keyed (at)",
)


def prepare(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        for statement in SCHEMA:
            db.execute(statement)
        db.commit()


def text_of(number: int) -> str:
    return f"row {number} " + "x" * 90


def filled(path: Path) -> None:
    prepare(path)
    with closing(sqlite3.connect(path)) as db:
        db.executemany("INSERT INTO plain VALUES (?, ?)", [(n, text_of(n)) for n in range(ROWS)])
        keyed = [(f"resp_{n * 7919 % ROWS:04d}", n, text_of(n).encode()) for n in range(ROWS)]
        db.executemany("INSERT INTO keyed VALUES (?, ?, ?)", keyed)
        db.commit()


def spoilt(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    match chance.randrange(5):
        case 0:
            return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
        case 1:
            at -= at % PAGE
            return data[:at] + bytes(PAGE) + data[at + PAGE :]
        case 2:
            at -= at % PAGE
            return data[:at] + chance.randbytes(PAGE) + data[at + PAGE :]
        case 3:
            return data[:512] + chance.randbytes(200) + data[712:]
        case _:
            return data[: max(2 * PAGE, at)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "a.db"
    filled(path)
    return path.read_bytes()


def hurt(folder: Path, whole: bytes, seed: int) -> int:
    """Damage one place and mend; gives how many rows are there again."""
    path = folder / f"{seed}.db"
    path.write_bytes(spoilt(whole, random.Random(seed)))
    note = mend(path, prepare)
    assert trouble_of(path) is None, seed
    with closing(sqlite3.connect(path)) as db:
        db.text_factory = lenient_text
        plain, keyed = db.execute("SELECT * FROM plain").fetchall(), db.execute("SELECT * FROM keyed").fetchall()
    if note is None:
        assert (len(plain), len(keyed)) == (ROWS, ROWS), f"{seed}: lost without a word"
    else:
        assert str(path) in note
        assert (folder / note.rpartition("kept as ")[2]).exists()
    for name in folder.glob(f"{seed}.db*"):
        name.unlink()
    return len(plain) + len(keyed)


def test_one_damage_costs_a_page_or_two(tmp_path: Path, whole: bytes) -> None:
    kept = [hurt(tmp_path, whole, seed) for seed in range(40)]
    assert sum(kept) > 0.75 * 40 * 2 * ROWS, kept
    assert sum(count > 2 * ROWS - 150 for count in kept) > 20, kept


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_500_damages(tmp_path: Path, whole: bytes) -> None:
    kept = [hurt(tmp_path, whole, seed) for seed in range(40, 540)]
    print(f"500 damages: {sum(kept) / (500 * 2 * ROWS):.1%} of all rows, median {sorted(kept)[250]} of {2 * ROWS}")


@pytest.mark.parametrize(
    "change",
    [lambda data: bytes(PAGE) + data[PAGE:], lambda data: b"\0" * 100 + data[100:], lambda data: b"x" + data[1:]],
    ids=["first page", "header", "first byte"],
)
def test_the_head_is_made_anew(tmp_path: Path, whole: bytes, change: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(change(whole))
    assert mend(path, prepare) is not None
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM plain").fetchone() == (ROWS,)
        assert db.execute("SELECT count(*) FROM keyed").fetchone() == (ROWS,)


def test_nothing_but_garbage_begins_anew_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(random.Random(1).randbytes(40_000))
    note = mend(path, prepare)
    assert note is not None
    assert "read back: none" in note
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM plain").fetchone() == (0,)


def test_a_hole_in_the_write_ahead_log_is_noticed(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.db", tmp_path / "b.db"
    prepare(path)
    db = sqlite3.connect(path, isolation_level=None)
    for n in range(60):
        db.execute("INSERT INTO plain VALUES (?, ?)", (n, text_of(n)))
    shutil.copyfile(path, copy)
    log = bytearray(Path(f"{path}-wal").read_bytes())
    db.close()
    wal = Path(f"{copy}-wal")
    wal.write_bytes(log)
    assert lost_frames(wal) == 0
    log[len(log) // 2] ^= 1
    wal.write_bytes(log)
    assert lost_frames(wal) > 10
    note = mend(copy, prepare)
    assert note is not None
    assert "write-ahead log is damaged" in note
    assert mend(copy, prepare) is None, "told once"


def test_a_torn_last_frame_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    prepare(path)
    db = sqlite3.connect(path, isolation_level=None)
    for n in range(20):
        db.execute("INSERT INTO plain VALUES (?, ?)", (n, text_of(n)))
    log = Path(f"{path}-wal").read_bytes()
    db.close()
    torn = tmp_path / "t.db-wal"
    torn.write_bytes(log[:-100])
    assert lost_frames(torn) == 0


# The stores themselves


def journal(folder: Path) -> tuple[Path, int]:
    scene = Scene()
    sink = JournalSink(folder, "h000000-1-aaaaaa")
    for _ in range(120):
        scene.start_turn()
        scene.call()
        scene.finish_turn()
    for event in scene.events:
        sink.emit(event)
    sink.close(20)
    (path,) = (folder / "telemetry").glob("*.db")
    return path, len(scene.events)


def test_a_damaged_journal_gives_what_can_be_read(tmp_path: Path) -> None:
    path, count = journal(tmp_path)
    whole = path.read_bytes()
    for seed in range(25):
        path.write_bytes(spoilt(whole, random.Random(seed)))
        feed = Feed(tmp_path)
        events = []
        while found := feed.poll():
            events += found
        feed.close()
        assert [event.seq for event in events] == sorted({event.seq for event in events})
        if len(events) < count:
            assert feed.notices, f"{seed}: lost without a word"
            assert str(path) in feed.notices[0]
    path.write_bytes(whole[:PAGE] + bytes(PAGE) + whole[2 * PAGE :])


def people(folder: Path) -> None:
    store = SqlitePeople(folder)
    for n in range(40):
        store.add_token(TokenRecord(name=f"t{n}", role="viewer", team="blue", digest=f"{n:064d}", created_us=n))
    store.close()


def test_damaged_people_are_read_back_and_told(tmp_path: Path) -> None:
    people(tmp_path)
    whole = (tmp_path / "people.db").read_bytes()
    for seed in range(15):
        folder = tmp_path / str(seed)
        folder.mkdir()
        (folder / "people.db").write_bytes(spoilt(whole, random.Random(seed)))
        store = SqlitePeople(folder)
        names = [token.name for token in store.tokens()]
        assert len(names) == 40 or store.notices, seed
        store.add_token(TokenRecord(name="new", role="viewer", team="blue", digest="x", created_us=1))
        store.close()
        assert not store.notices or (folder / "people.db").stat().st_mode & 0o077 == 0


async def test_damaged_stores_of_the_service_open_and_take_new_entries(tmp_path: Path) -> None:
    path = tmp_path / "responses.db"
    store = ResponseStore(path, 0)
    await store.open()
    for n in range(80):
        store.put(StoredResponse(id=f"resp_{n}", parent=None, created_at=1, input=(), output=(), response=b"x" * 300))
    await store.close()
    whole = path.read_bytes()
    for seed in range(12):
        for old in tmp_path.glob("responses.db*"):
            old.unlink()
        path.write_bytes(spoilt(whole, random.Random(seed)))
        again = ResponseStore(path, 0)
        await again.open()
        assert await again.secret()
        await again.close()
        assert trouble_of(path) is None
    await asyncio.sleep(0)


def test_a_damaged_ledger_keeps_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with closing(ledger_rows.connect(path)) as db:
        ledger_rows.prepare(db, 0)
        accounts = []
        for n in range(400):
            intent = Intent(
                response_id=f"resp_{n:04d}", key="k", model="m", connection="c", lane=None, process="p", admitted_us=n
            )
            accounts.append(Account(intent=intent, closed_us=n, state="settled", input_tokens=n))
        ledger_rows.insert(db, accounts)
    whole = path.read_bytes()
    at = len(whole) // 2 // PAGE * PAGE
    path.write_bytes(whole[:at] + bytes(PAGE) + whole[at + PAGE :])
    note = mend(path, ledger_rows.make)
    assert note is not None
    with closing(ledger_rows.connect(path)) as db:
        assert ledger_rows.totals(db)["k"].responses > 300


async def test_a_damaged_hub_starts_tells_and_goes_on(tmp_path: Path) -> None:
    scene = agent_scene()
    for _ in range(60):
        work(scene)
    first = tmp_path / "whole"
    async with running_hub(first) as hub:
        await hub.accept("blue", "ann", batch_of(scene.events))
    files = [path.relative_to(first) for path in first.rglob("*.db")]
    assert len(files) == 2
    for seed in range(10):
        folder = tmp_path / f"hurt{seed}"
        shutil.copytree(first, folder)
        hurt_file = folder / files[seed % 2]
        hurt_file.write_bytes(spoilt(hurt_file.read_bytes(), random.Random(seed)))
        async with running_hub(folder) as hub:
            more = agent_scene(2)
            work(more)
            await hub.accept("blue", "bert", batch_of(more.events))
            query = TurnQuery(team=None, since_us=0, until_us=1 << 60, limit=1_000)
            turns = hub.store.turns(query)
            assert len(turns) == 61 or hub.store.notices, f"{seed}: lost without a word"
            assert any(turn.agent == "bert" for turn in turns)
            assert list(hub.store.events_between(0, 1 << 60, None))
            assert hub.store.cells(86_400, 0, 1 << 40, None)
