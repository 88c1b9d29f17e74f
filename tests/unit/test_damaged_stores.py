"""Each store of ours after one damage to one of its files: it opens, what can be read is there, and a person is told
the name of the file wherever something is lost."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from agent_core.clock import SystemClock
from agent_core.config.load import keep_setting, load
from agent_core.control.lock import Holder, SessionLock, read_holder
from agent_core.errors import LooplineError, StateError
from agent_core.keys import Keys
from agent_core.responses_server.ledger import rows
from agent_core.responses_server.ledger.port import Account, Intent
from agent_core.responses_server.ledger.sqlite_ledger import SqliteLedger
from agent_core.responses_server.store.port import StoredResponse
from agent_core.responses_server.store.sqlite import SqliteStore as ResponseStore
from agent_core.telemetry.codec import decode_event
from agent_core.telemetry.events import Event
from agent_core.telemetry.journal.reader import Feed, salvaged
from agent_core.telemetry.journal.sink import JournalSink
from dashboard.hub.sources.registry import whole_events
from dashboard.hub.store.cell_codec import encode_cell
from dashboard.hub.store.records import AuditRecord, FindingQuery, SessionRecord, TokenRecord, TurnQuery
from dashboard.hub.store.sqlite_files import open_readable
from dashboard.hub.store.sqlite_people import SqlitePeople
from dashboard.hub.store.sqlite_store import SqliteStore
from tests.support.hub.stores import agent_scene, batch_of, running_hub, work
from tests.support.system.damage import Toll, damaged
from tests.support.telemetry.scene import Scene

Items = dict[str, object]
ALWAYS = 1 << 60


class Store(NamedTuple):
    """`make` fills a folder; `look` opens it and gives what is there, and the notices that a person gets beside the
    log. `files`: which of its files are damaged. `block`: bytes of a block."""

    make: Callable[[Path], object]
    look: Callable[[Path], tuple[Items, list[str]]]
    files: str
    block: int = 4096


def events_of(scene: Scene, turns: int) -> list[Event]:
    for _ in range(turns):
        work(scene, calls=2)
    return list(scene.events)


def fill_journal(folder: Path) -> None:
    sink = JournalSink(folder, "h000000-1-aaaaaa")
    for event in events_of(agent_scene(), 12):
        sink.emit(event)
    sink.close(20)


def look_at_journal(folder: Path) -> tuple[Items, list[str]]:
    feed = Feed(folder)
    found: Items = {}
    while events := feed.poll():
        found |= {str(event.seq): event for event in events}
    feed.close()
    for path in folder.glob("telemetry/*.db"):
        found |= {f"unknown {seq}": body for seq, body in salvaged(path) if is_unknown(body)}
    return found, feed.notices


def is_unknown(body: str | bytes) -> bool:
    """Whether it reads as an event of a later version, which is passed over."""
    try:
        return decode_event(body) is None
    except StateError:
        return False


def fill_hub(folder: Path) -> None:
    async def fill() -> None:
        async with running_hub(folder) as hub:
            await hub.accept("blue", "ann", batch_of(events_of(agent_scene(), 12)))

    asyncio.run(fill())


def bodies_of(path: Path) -> list[bytes]:
    """All events of a day, whatever became of the columns beside them."""
    with closing(open_readable(path)) as database:
        return [body for (body,) in database.execute("SELECT body FROM event ORDER BY pos")]


def look_at_hub(folder: Path) -> tuple[Items, list[str]]:
    store = SqliteStore(folder)
    try:
        found: Items = {f"source {one.source}": one for one in store.sources()}
        for bucket, dims, cell in store.cells(60, 0, ALWAYS, None):
            found[f"cell {bucket} {dims}"] = encode_cell(cell)
        bodies = [body for path in folder.glob("days/*.db") for body in bodies_of(path)]
        for event in whole_events(store, bodies):
            found[f"event {event.source} {event.seq}"] = event
        found |= {f"unknown {number}": body for number, body in enumerate(bodies) if is_unknown(body)}
        turns = store.turns(TurnQuery(team=None, since_us=0, until_us=ALWAYS, limit=1_000))
        found |= {f"turn {turn.turn}": turn for turn in turns}
        findings = store.findings(FindingQuery(team=None, since_us=0, until_us=ALWAYS, limit=1_000))
        found |= {f"finding {one.seq}": one for one in findings}
        return found, store.notices
    finally:
        store.close()


def fill_people(folder: Path) -> None:
    store = SqlitePeople(folder)
    for n in range(30):
        store.add_token(TokenRecord(name=f"t{n}", role="viewer", team="blue", digest=f"{n:064d}", created_us=n))
        store.put_session(SessionRecord(digest=f"s{n:063d}", token=f"t{n}", created_us=n, used_us=n))
        store.audit(AuditRecord(at_us=n, actor="cli", action="token.add", detail=f"t{n} viewer blue"))
    store.put_value("settings", b'{"raw_days":3}')
    store.close()


def look_at_people(folder: Path) -> tuple[Items, list[str]]:
    store = SqlitePeople(folder)
    try:
        found: Items = {f"token {token.name}": token for token in store.tokens()}
        for n in range(30):
            if (session := store.session(f"s{n:063d}")) is not None:
                found[f"session {n}"] = session[0]
        found |= {f"audit {record.detail}": record for record in store.audited(1_000)}
        if (value := store.value("settings")) is not None:
            found["settings"] = value
        return found, store.notices
    finally:
        store.close()


def fill_responses(folder: Path) -> None:
    async def fill() -> None:
        store = ResponseStore(folder / "responses.db", 0)
        await store.open()
        await store.secret()
        item = msgspec.Raw(b'{"type":"message","role":"user","content":"' + b"x" * 200 + b'"}')
        for n in range(60):
            record = StoredResponse(
                id=f"resp_{n}", parent=None, created_at=1, input=(item,), output=(item,), response=b'{"id":"x"}'
            )
            store.put(record)
        await store.close()

    asyncio.run(fill())


def look_at_responses(folder: Path) -> tuple[Items, list[str]]:
    async def look() -> tuple[Items, list[str]]:
        store = ResponseStore(folder / "responses.db", 0)
        await store.open()
        found: Items = {"secret": await store.secret()}
        told = []
        for n in range(60):
            try:
                record = await store.get(f"resp_{n}")
            except LooplineError as error:
                told.append(error.message)
                continue
            if record is not None:
                parts = [bytes(item) for item in (*record.input, *record.output)]
                found[f"response {n}"] = (record.parent, record.owner, parts, record.response)
        await store.close()
        return found, told

    return asyncio.run(look())


def intent(n: int) -> Intent:
    return Intent(
        response_id=f"resp_{n:04d}", key="k", model="m", connection="c", lane=None, process="p", admitted_us=n + 1
    )


def fill_ledger(folder: Path) -> None:
    async def fill() -> None:
        ledger = SqliteLedger(folder / "ledger.db", "p", SystemClock())
        await ledger.open()
        now_us = SystemClock().wall_ns() // 1000
        for n in range(150):
            ledger.admit(intent(n))
            ledger.settle(Account(intent=intent(n), closed_us=now_us, state="settled", input_tokens=n))
        await ledger.flush()
        for n in range(150, 160):
            ledger.admit(intent(n))
        await ledger.close()

    asyncio.run(fill())


def look_at_ledger(folder: Path) -> tuple[Items, list[str]]:
    async def look() -> tuple[Items, list[str]]:
        ledger = SqliteLedger(folder / "ledger.db", "q", SystemClock())
        await ledger.open()
        with closing(rows.connect(folder / "ledger.db")) as database:
            names = [name for (name,) in database.execute("SELECT response_id FROM ledger")]
        found: Items = {}
        for name in names:
            account = await ledger.find(name)
            if account is not None:
                found[name] = (account.intent, account.state, account.input_tokens)
        await ledger.close()
        return found, []

    return asyncio.run(look())


def environment(folder: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "LOOPLINE_KEYRING": "off"}


SETTINGS = """# How I like it
model = "gpt-5"
approve = "ask"
deny = ["curl *", "rm -rf *"]
trusted = ["/home/ann/shop"]

[approvals]
command = "never"

[limits]
calls = 40
minutes = 12.5

[hub]
url = "https://hub.example/v1"
"""


def fill_settings(folder: Path) -> None:
    keep_setting(environment(folder), "trusted", ("/home/ann/books", "/home/ann/mail"))
    (folder / "loopline" / "config.toml").write_text(SETTINGS)


def look_at_settings(folder: Path) -> tuple[Items, list[str]]:
    loaded = load(env=environment(folder))
    given = {field for field, origin in loaded.origins.items() if origin.layer != "default"}
    return {field: getattr(loaded.settings, field) for field in given}, []


def fill_keys(folder: Path) -> None:
    for n in range(8):
        Keys(environment(folder)).set(f"name{n}", f"secret-{n}", f"https://host{n}.example/v1")


def look_at_keys(folder: Path) -> tuple[Items, list[str]]:
    keys = Keys(environment(folder))
    names = [f"name{n}" for n in range(8)]
    names += [name for name in keys._read() if name not in names]
    found = {name: (keys.get(name, f"https://host{name[4:]}.example/v1"), keys.origin(name)) for name in names}
    return {name: kept for name, kept in found.items() if kept != (None, None)}, []


def fill_lock(folder: Path) -> None:
    lock = SessionLock(folder / "sess_1.lock", Holder(pid=7, since="2026-01-01T00:00:00Z", socket="/run/x"))
    shutil.copyfile(folder / "sess_1.lock", folder / "left")
    lock.release()
    (folder / "left").rename(folder / "sess_1.lock")


def look_at_lock(folder: Path) -> tuple[Items, list[str]]:
    """What a dead host left says nothing that is needed: the session can be taken over."""
    path = folder / "sess_1.lock"
    assert read_holder(path) is None
    lock = SessionLock(path, Holder(pid=8, since="now"))
    lock.release()
    return {}, []


STORES = {
    "journal": Store(fill_journal, look_at_journal, "telemetry/*.db"),
    "rollups": Store(fill_hub, look_at_hub, "rollups.db"),
    "days": Store(fill_hub, look_at_hub, "days/*.db"),
    "people": Store(fill_people, look_at_people, "people.db"),
    "responses": Store(fill_responses, look_at_responses, "responses.db"),
    "ledger": Store(fill_ledger, look_at_ledger, "ledger.db"),
    "intents": Store(fill_ledger, look_at_ledger, "ledger.intents/*", 256),
    "settings": Store(fill_settings, look_at_settings, "loopline/config.toml", 64),
    "managed settings": Store(fill_settings, look_at_settings, "loopline/managed.toml", 64),
    "keys": Store(fill_keys, look_at_keys, "loopline/keys.json", 64),
    "lock": Store(fill_lock, look_at_lock, "sess_1.lock", 16),
}


# A file of the user's own that ends where a line ends may be meant so: there is nothing to tell.
def toll_of(name: str, seeds: range, folder: Path, caplog: pytest.LogCaptureFixture) -> Toll:
    store, toll = STORES[name], Toll(name)
    whole, hurt = folder / "whole", folder / "hurt"
    whole.mkdir()
    store.make(whole)
    shutil.copytree(whole, hurt)
    before, told = store.look(hurt)
    assert not told, "nothing is damaged yet"
    shutil.rmtree(hurt)
    (path,) = [found.relative_to(whole) for found in whole.glob(store.files)]
    data = (whole / path).read_bytes()
    for seed in seeds:
        shutil.copytree(whole, hurt)
        (hurt / path).write_bytes(damaged(data, seed, store.block))
        caplog.clear()
        after: Items | None = None
        try:
            after, told = store.look(hurt)
        except LooplineError as error:
            told = [str(error)]
        told += [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
        spoilt = (hurt / path).read_bytes() if (hurt / path).exists() else b""
        shortened = name == "settings" and bool(spoilt) and data.startswith(spoilt)
        toll.add(seed, before, after, shortened or any(path.name in line for line in told))
        shutil.rmtree(hurt)
    return toll


@pytest.mark.parametrize("name", STORES)
def test_a_damage_costs_little_and_is_told(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    toll = toll_of(name, range(20), tmp_path, caplog)
    assert not toll.silent, toll.line()


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", STORES)
def test_500_damages_each(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    toll = toll_of(name, range(20, 520), tmp_path, caplog)
    print(toll.line())
    assert not toll.silent, toll.line()
