"""The contract of ledgers, for each of them, and what only the one on disk promises."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from agent_core.clock import SystemClock
from agent_core.errors import StateError
from agent_core.responses_server.ledger import intents
from agent_core.responses_server.ledger.intents import IntentLog, left_behind, read_intents
from agent_core.responses_server.ledger.memory import MemoryLedger
from agent_core.responses_server.ledger.port import Account, Intent, Ledger
from agent_core.responses_server.ledger.rows import RETENTION_US
from agent_core.responses_server.ledger.sqlite_ledger import SqliteLedger
from tests.support.system.waiting import eventually

NOW_US = SystemClock().wall_ns() // 1000


def intent(name: str, key: str = "k", process: str = "p1") -> Intent:
    return Intent(response_id=name, key=key, model="m", connection="c", admitted_us=NOW_US, process=process, lane="l")


def account(name: str, key: str = "k", tokens: int | None = 7, closed_us: int = NOW_US) -> Account:
    given = intent(name, key)
    return Account(
        intent=given, closed_us=closed_us, status="completed", input_tokens=tokens, output_tokens=tokens, cost_nano=5
    )


def on_disk(folder: Path, process: str = "p1") -> SqliteLedger:
    return SqliteLedger(folder / "ledger.db", process, SystemClock())


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*.intents") if path.is_file())


@pytest.fixture(params=["memory", "sqlite"])
async def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ledger]:
    made: Ledger = MemoryLedger() if request.param == "memory" else on_disk(tmp_path)
    assert await made.open() == []
    yield made
    await made.close()


async def test_what_is_settled_is_found_and_pends_no_more(ledger: Ledger) -> None:
    ledger.admit(intent("r1"))
    ledger.admit(intent("r2"))
    assert (ledger.pending, await ledger.find("r1")) == (2, None)
    ledger.settle(account("r1"))
    await ledger.flush()
    assert await ledger.find("r1") == account("r1")
    assert await ledger.find("r2") is None
    assert ledger.pending == 1


async def test_unknown_counts_stay_unknown_and_sums_leave_them_out(ledger: Ledger) -> None:
    for name, key, tokens in (("r1", "a", 7), ("r2", "a", None), ("r3", "b", 1)):
        ledger.admit(intent(name, key))
        ledger.settle(account(name, key, tokens))
    await ledger.flush()
    found = await ledger.find("r2")
    assert found is not None
    assert found.input_tokens is None
    sums = await ledger.totals()
    assert (sums["a"].responses, sums["a"].input_tokens, sums["a"].cost_nano) == (2, 7, 10)
    assert sums["b"].responses == 1


async def test_a_flush_of_nothing_is_fine(ledger: Ledger) -> None:
    await ledger.flush()
    await ledger.flush()


async def test_memory_is_bounded() -> None:
    ledger = MemoryLedger(limit=2)
    for name in ("r1", "r2", "r3"):
        ledger.admit(intent(name))
        ledger.settle(account(name))
    assert await ledger.find("r1") is None
    assert (await ledger.totals())["k"].responses == 3


async def test_entries_outlive_the_process_and_are_the_owners(tmp_path: Path) -> None:
    first = on_disk(tmp_path)
    await first.open()
    first.admit(intent("r1"))
    first.settle(account("r1"))
    await first.close()
    assert files(tmp_path) == []
    assert stat.S_IMODE((tmp_path / "ledger.db").stat().st_mode) == 0o600
    again = on_disk(tmp_path, "p2")
    assert await again.open() == []
    assert await again.find("r1") == account("r1")
    await again.close()


async def test_a_settled_entry_becomes_durable_without_being_asked(tmp_path: Path) -> None:
    ledger = on_disk(tmp_path)
    await ledger.open()
    ledger.admit(intent("r1"))
    ledger.settle(account("r1"))
    await eventually(lambda: ledger.pending == 0)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as database:
        assert database.execute("SELECT state FROM ledger").fetchall() == [("settled",)]
    await ledger.close()


KILLED = """
import asyncio, sys
from pathlib import Path
from tests.unit.responses_server.ledger.test_ledger import account, intent, on_disk

async def main():
    ledger = on_disk(Path(sys.argv[1]), "killed")
    await ledger.open()
    ledger.admit(intent("done", process="killed"))
    ledger.settle(account("done"))
    await ledger.flush()
    ledger.admit(intent("open", process="killed"))
    print("ready", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_a_killed_process_is_accounted_for_once_and_a_living_one_is_let_be(tmp_path: Path) -> None:
    living = on_disk(tmp_path, "living")
    await living.open()
    living.admit(intent("running", process="living"))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", KILLED, str(tmp_path)), stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[4]
    )
    assert process.stdout is not None
    async with asyncio.timeout(30):
        assert await process.stdout.readline() == b"ready\n"
    watcher = on_disk(tmp_path, "watcher")
    assert await watcher.open() == [], "both still live"
    process.kill()
    await process.wait()
    assert len(files(tmp_path)) == 2
    heir = on_disk(tmp_path, "heir")
    assert [(each.response_id, each.process) for each in await heir.open()] == [("open", "killed")]
    found = await heir.find("open")
    assert found is not None
    assert (found.state, found.status, found.input_tokens) == ("unsettled", None, None)
    assert (await heir.totals())["k"].unsettled == 1
    assert len(files(tmp_path)) == 1
    for each in (watcher, heir):
        await each.close()
    living.settle(account("running"))
    await living.close()
    last = on_disk(tmp_path, "last")
    assert await last.open() == []
    settled = await last.find("running")
    assert settled is not None
    assert settled.state == "settled"
    await last.close()


async def test_an_intent_that_was_not_settled_stays_for_the_next(tmp_path: Path) -> None:
    ledger = on_disk(tmp_path)
    await ledger.open()
    ledger.admit(intent("r1"))
    await ledger.close()
    again = on_disk(tmp_path, "p2")
    assert [each.response_id for each in await again.open()] == ["r1"]
    await again.close()


def test_a_line_that_was_cut_short_is_passed_over() -> None:
    whole = msgspec.json.encode(intent("r1")) + b"\n"
    for cut in range(1, len(whole) - 1):
        assert list(read_intents(whole + whole[:cut])) == [intent("r1")]
        assert list(read_intents(whole[:cut] + b"\n" + whole)) == [intent("r1")]


async def test_files_do_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intents, "MAX_BYTES", 1_000)
    log = IntentLog(tmp_path / "intents", "p")
    log.append(intent("kept"))
    for number in range(200):
        log.append(intent(f"r{number}"))
        log.settled([f"r{number}"])
        assert len(files(tmp_path)) <= 2
    log.settled(["kept", "unknown"])
    assert len(files(tmp_path)) == 1
    assert log.pending == 0
    log.close()
    assert files(tmp_path) == []


async def test_a_folder_that_can_not_be_written_refuses_the_admission(tmp_path: Path) -> None:
    (tmp_path / "ledger.intents").write_text("no folder")
    ledger = on_disk(tmp_path)
    await ledger.open()
    with pytest.raises(StateError) as caught:
        ledger.admit(intent("r1"))
    assert caught.value.code == "state_ledger"
    assert ledger.pending == 0
    await ledger.close()


async def test_entries_that_could_not_be_written_are_kept(tmp_path: Path) -> None:
    ledger = on_disk(tmp_path)
    await ledger.open()
    ledger.admit(intent("r1"))
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as other:
        other.execute("ALTER TABLE ledger RENAME TO away")
        ledger.settle(account("r1"))
        with pytest.raises(StateError):
            await ledger.flush()
        assert ledger.pending == 1
        other.execute("ALTER TABLE away RENAME TO ledger")
    await ledger.flush()
    assert ledger.pending == 0
    assert await ledger.find("r1") == account("r1")
    await ledger.close()


async def test_a_database_that_is_none_is_set_aside_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = b"this is no database, however long it is looked at" * 50
    (tmp_path / "ledger.db").write_bytes(data)
    ledger = on_disk(tmp_path)
    await ledger.open()
    await ledger.close()
    assert "ledger.db" in caplog.text
    assert (tmp_path / "ledger.db.damaged-1").read_bytes() == data


async def test_old_entries_are_forgotten(tmp_path: Path) -> None:
    ledger = on_disk(tmp_path)
    await ledger.open()
    for name, closed_us in (("old", NOW_US - RETENTION_US - 1), ("new", NOW_US)):
        ledger.admit(intent(name))
        ledger.settle(account(name, closed_us=closed_us))
    await ledger.close()
    again = on_disk(tmp_path, "p2")
    await again.open()
    assert await again.find("old") is None
    assert await again.find("new") is not None
    await again.close()


def test_a_file_begins_its_life_locked(tmp_path: Path) -> None:
    log = IntentLog(tmp_path, "p")
    log.append(intent("r1"))
    assert list(left_behind(tmp_path)) == []
    assert [path.suffix for path in tmp_path.iterdir()] == [".intents"]
    log.close()
    (found,) = left_behind(tmp_path)
    assert found.intents == [intent("r1")]
    assert files(tmp_path) == [f"p-1{intents.SUFFIX}"]
