"""The contract of response stores, for each of them, and what only the durable one promises."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from agent_core.errors import StateError
from agent_core.responses_server.store.port import MemoryStore, ResponseStore, StoredResponse, read_chain
from agent_core.responses_server.store.postgres import PostgresStore
from agent_core.responses_server.store.sqlite import SqliteStore
from agent_core.responses_server.store.write_behind import RETENTION_S

NOW_S = 1_800_000_000


def record(name: str, parent: str | None = None, created_at: int = NOW_S) -> StoredResponse:
    return StoredResponse(
        id=name,
        parent=parent,
        created_at=created_at,
        input=(msgspec.Raw(b'{"role":"user","content":"\xc3\xa4"}'),),
        output=(msgspec.Raw(b'{"type":"message"}'), msgspec.Raw(b'{"type":"reasoning"}')),
        response=b'{"id":"x"}',
    )


def plain(found: StoredResponse | None) -> object:
    """Comparable: `Raw` compares by identity of its buffer."""
    if found is None:
        return None
    return (
        found.id,
        found.parent,
        found.created_at,
        [bytes(r) for r in found.input],
        [bytes(r) for r in found.output],
        found.response,
    )


Opener = Callable[[int], ResponseStore]
"""Another store on the same data, at this Unix second."""


@pytest.fixture(params=["sqlite", "postgresql"])
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    if request.param == "sqlite":
        return lambda now_s: SqliteStore(tmp_path / "s" / "r.db", now_s)
    url = request.getfixturevalue("postgres").database()
    return lambda now_s: PostgresStore(url, now_s)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ResponseStore]:
    made: ResponseStore = MemoryStore()
    if request.param == "sqlite":
        made = SqliteStore(tmp_path / "s" / "r.db", NOW_S)
    elif request.param == "postgresql":
        made = PostgresStore(request.getfixturevalue("postgres").database(), NOW_S)
    await made.open()
    yield made
    await made.close()


async def test_what_is_put_is_there_at_once_and_after_a_flush(store: ResponseStore) -> None:
    store.put(record("resp_1"))
    assert plain(await store.get("resp_1")) == plain(record("resp_1"))
    await store.flush()
    await store.flush()
    assert plain(await store.get("resp_1")) == plain(record("resp_1"))
    assert await store.get("resp_2") is None


@pytest.mark.parametrize("flushed", [True, False])
async def test_delete(store: ResponseStore, flushed: bool) -> None:
    store.put(record("resp_1"))
    if flushed:
        await store.flush()
    assert await store.delete("resp_1") is True
    assert await store.delete("resp_1") is False
    assert await store.get("resp_1") is None


async def test_chains(store: ResponseStore) -> None:
    for name, parent in (("resp_1", None), ("resp_2", "resp_1"), ("resp_3", "resp_2"), ("lost", "gone")):
        store.put(record(name, parent))
    await store.flush()
    chain = await read_chain(store, "resp_3", "")
    assert chain is not None
    assert [one.id for one in chain] == ["resp_1", "resp_2", "resp_3"]
    assert await read_chain(store, "lost", "") is None
    assert await read_chain(store, "never", "") is None


@pytest.mark.parametrize("flushed", range(5))
async def test_a_chain_whose_newest_links_are_not_durable_yet(store: ResponseStore, flushed: int) -> None:
    for number in range(4):
        if number == flushed:
            await store.flush()
        store.put(record(f"resp_{number}", f"resp_{number - 1}" if number else None))
    chain = await read_chain(store, "resp_3", "")
    assert chain is not None
    assert [one.id for one in chain] == ["resp_0", "resp_1", "resp_2", "resp_3"]
    assert [bytes(raw) for raw in chain[0].input] == [bytes(raw) for raw in record("x").input]
    assert await read_chain(store, "resp_3", "someone") is None
    await store.delete("resp_1")
    assert await read_chain(store, "resp_3", "") is None


async def test_memory_is_bounded() -> None:
    store = MemoryStore(limit=2)
    for name in ("a", "b", "c"):
        store.put(record(name))
    assert await store.get("a") is None
    assert await store.get("c") is not None


async def test_the_file_outlives_the_process_and_is_the_owners(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    first = SqliteStore(path, NOW_S)
    await first.open()
    first.put(record("resp_1"))
    await first.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    second = SqliteStore(path, NOW_S)
    await second.open()
    assert plain(await second.get("resp_1")) == plain(record("resp_1"))
    await second.close()


async def test_two_processes_may_share_it(durable: Opener) -> None:
    first, second = durable(NOW_S), durable(NOW_S)
    await first.open()
    await second.open()
    first.put(record("resp_1"))
    await first.flush()
    assert plain(await second.get("resp_1")) == plain(record("resp_1"))
    assert await first.secret() == await second.secret()
    second.put(record("resp_2", "resp_1"))
    await second.flush()
    chain = await first.chain("resp_2")
    assert chain is not None
    assert [each.id for each in chain] == ["resp_1", "resp_2"]
    assert await first.delete("resp_1")
    assert await second.chain("resp_2") is None
    await first.close()
    await second.close()


async def test_old_responses_are_dropped_on_opening(durable: Opener) -> None:
    first = durable(NOW_S)
    await first.open()
    first.put(record("old", created_at=NOW_S))
    first.put(record("new", created_at=NOW_S + 60))
    await first.close()
    later = durable(NOW_S + RETENTION_S + 30)
    await later.open()
    assert await later.get("old") is None
    assert await later.get("new") is not None
    await later.close()


async def test_a_file_that_is_no_store_is_set_aside(tmp_path: Path) -> None:
    path, data = tmp_path / "r.db", b"this is not a database, but it is long enough to be looked at" * 20
    path.write_bytes(data)
    store = SqliteStore(path, NOW_S)
    await store.open()
    assert await store.get("resp_1") is None
    await store.close()
    assert (tmp_path / "r.db.damaged-1").read_bytes() == data


async def test_a_folder_that_can_not_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = SqliteStore(tmp_path / "file" / "r.db", NOW_S)
    with pytest.raises(StateError):
        await store.open()
    await store.close()


async def test_a_flush_writes_what_none_before_it_took_and_waits_for_the_rest(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "r.db", NOW_S)
    await store.open()
    try:
        for number in range(20):
            store.put(record(f"resp_{number}"))
        flushes = [asyncio.create_task(store.flush()) for _ in range(5)]
        store.put(record("late"))
        await flushes[-1]
        async with asyncio.timeout(10):
            await asyncio.gather(*flushes)
        with closing(sqlite3.connect(tmp_path / "r.db")) as database:
            (written,) = database.execute("SELECT COUNT(*) FROM responses WHERE id LIKE 'resp_%'").fetchone()
        assert written == 20
        assert await store.delete("late")
        await store.flush()
        assert await store.get("late") is None
    finally:
        await store.close()


async def test_a_flush_that_has_nothing_left_to_take_waits_for_those_that_took(durable: Opener) -> None:
    store, other = durable(NOW_S), durable(NOW_S)
    await store.open()
    await other.open()
    try:
        for number in range(200):
            store.put(record(f"resp_{number}"))
        first = asyncio.create_task(store.flush())
        await asyncio.sleep(0)  # it has taken all of them
        await store.flush()
        assert plain(await other.get("resp_199")) == plain(record("resp_199"))
        await first
    finally:
        await other.close()
        await store.close()
