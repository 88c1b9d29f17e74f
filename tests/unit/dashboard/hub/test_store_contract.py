"""What every store must do, on real SQLite files and on a real PostgreSQL. A test that takes `files` is of files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from agent_core.errors import StateError
from agent_core.telemetry.rollup.figures import Figures
from agent_core.telemetry.rollup.rows import CallRow
from dashboard.hub.store.opening import open_store
from dashboard.hub.store.port import Store, StoreError
from dashboard.hub.store.records import (
    CONTEXT,
    LEVELS,
    ORDINARY,
    SAMPLE,
    Cell,
    CellKey,
    Claim,
    Dims,
    EventRow,
    FindingQuery,
    FindingRecord,
    Flush,
    SourceRecord,
    TurnQuery,
    TurnRecord,
    day_of,
)
from dashboard.hub.store.sqlite_files import open_writable
from dashboard.hub.store.sqlite_store import SqliteStore
from tests.support.system.postgres import PostgresServer

DAY_US = 86_400_000_000
NOON_US = 20_000 * DAY_US + DAY_US // 2
DIMS = Dims("alice", "cli", "", "shop", "gpt-5", "websocket", "reused")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "hub"


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, folder: Path) -> str:
    """Of a store that holds nothing yet."""
    if request.param == "sqlite":
        return str(folder)
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.database()


@pytest.fixture
def store(address: str, folder: Path) -> Iterator[Store]:
    opened = open_store(address, folder)
    yield opened
    opened.close()


@pytest.fixture
def files(folder: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(folder)
    yield opened
    opened.close()


def event(seq: int, *, source: str = "a", team: str = "blue", at_us: int = NOON_US, **fields: object) -> EventRow:
    told = {"subject": "turn_1", "kind": ORDINARY, "body": b'{"seq":%d}' % seq, **fields}
    return EventRow(day_of(at_us), source, team, seq, at_us, **told)  # type: ignore[arg-type]


def cell(calls: int = 1, ttft_ms: float = 20.0) -> Cell:
    filled = Cell()
    for number in range(calls):
        filled.figures.add_call(
            CallRow(call=f"c{number}", source="a", number=1, status="completed", ttft_ms=ttft_ms, reuse="reused")
        )
    filled.savings.calls = calls
    return filled


def key(at_us: int = NOON_US, team: str = "blue", dims: Dims = DIMS) -> CellKey:
    return CellKey(60, at_us // 60_000_000 * 60, team, dims)


def unit(*rows: EventRow, cells: dict[CellKey, Cell] | None = None, **fields: object) -> Flush:
    sources = {
        row.source: SourceRecord(source=row.source, team=row.team, agent="alice", seq=row.seq, seen_us=row.at_us)
        for row in rows
    }
    return Flush(events=list(rows), cells=cells or {}, sources=sources, **fields)  # type: ignore[arg-type]


def turn(name: str = "turn_1", *, team: str = "blue", started_us: int = NOON_US, status: str = "running") -> TurnRecord:
    return TurnRecord(
        team=team, turn=name, session="s", source="a", agent="alice", project="shop", model="gpt-5", status=status,
        reuse="reused", started_us=started_us, ended_us=None, body=b"{}",
    )  # fmt: skip


def finding(seq: int, *, team: str = "blue", at_us: int = NOON_US, code: str = "rate_limited") -> FindingRecord:
    return FindingRecord(
        team=team, source="a", seq=seq, at_us=at_us, severity="error", code=code, agent="alice", turn="t", body=b"{}"
    )


def calls(store: Store, team: str | None = "blue", level: int = 60) -> int:
    cells = store.cells(level, 0, 1 << 40, team)  # type: ignore[arg-type]
    return sum(one.figures.calls for _, _, one in cells)


def test_events_are_kept_once_and_come_back_in_order(store: Store) -> None:
    first = store.write(unit(event(1), event(2)))
    second = store.write(unit(event(2), event(3)))
    day = day_of(NOON_US)
    assert first[day] < second[day]
    bodies, reached = store.events_after({}, second, "blue", 100)
    assert bodies == [b'{"seq":1}', b'{"seq":2}', b'{"seq":3}']
    assert store.events_after(reached, second, "blue", 100)[0] == []
    assert store.positions() == second


def test_following_stops_at_the_limit_and_at_what_was_durable(store: Store) -> None:
    early = store.write(unit(*[event(seq) for seq in range(1, 6)]))
    store.write(unit(event(6)))
    bodies, reached = store.events_after({}, early, None, 3)
    assert len(bodies) == 3
    rest, _ = store.events_after(reached, early, None, 3)
    assert rest == [b'{"seq":4}', b'{"seq":5}']


def test_each_question_respects_the_team(store: Store) -> None:
    blue = unit(event(1), cells={key(): cell()}, turns={("blue", "turn_1"): turn()}, findings=[finding(1)])
    red = unit(
        event(1, source="b", team="red", body=b"red"),
        cells={key(team="red"): cell(5)},
        turns={("red", "turn_1"): turn(team="red"), ("red", "turn_2"): turn("turn_2", team="red")},
        findings=[msgspec.structs.replace(finding(1, team="red"), source="b")],
    )
    store.write(blue)
    upto = store.write(red)
    all_turns = TurnQuery(team="blue", since_us=0, until_us=1 << 60)
    all_findings = FindingQuery(team="blue", since_us=0, until_us=1 << 60)
    assert store.events_after({}, upto, "blue", 9)[0] == [b'{"seq":1}']
    assert store.events_of(["turn_1"], "blue") == [b'{"seq":1}']
    assert store.events_of(["turn_1"], "red") == [b"red"]
    assert list(store.events_between(0, 1 << 60, "blue")) == [b'{"seq":1}']
    assert [one.team for one in store.turns(all_turns)] == ["blue"]
    assert store.turn("turn_2", "blue") is None
    assert store.turn("turn_2", "red") is not None
    assert [one.team for one in store.findings(all_findings)] == ["blue"]
    assert calls(store, "blue") == 1
    assert calls(store, None) == 6


def test_a_source_is_read_back_with_its_context_and_what_came_since(store: Store) -> None:
    store.write(
        unit(
            event(1, kind=CONTEXT, body=b"session"),
            event(2, body=b"old"),
            event(3, kind=SAMPLE, body=b"sample"),
            event(4, body=b"new"),
        )
    )
    day = [day_of(NOON_US)]
    assert store.source_events("a", day, None) == [b"session"]
    assert store.source_events("a", day, 3) == [b"session", b"new"]
    assert store.source_events("b", day, 1) == []
    assert b"sample" not in list(store.events_between(0, 1 << 60, None))


def test_a_turn_is_replaced_and_found_under_its_day_whichever_it_is(store: Store) -> None:
    store.write(unit(turns={("blue", "turn_1"): turn()}))
    store.write(unit(turns={("blue", "turn_1"): turn(status="failed")}))
    store.write(unit(turns={("blue", "turn_2"): turn("turn_2", started_us=NOON_US - 3 * DAY_US)}))
    query = TurnQuery(team="blue", since_us=0, until_us=1 << 60)
    assert [(one.turn, one.status) for one in store.turns(query)] == [("turn_1", "failed"), ("turn_2", "running")]
    assert [one.turn for one in store.turns(msgspec.structs.replace(query, status="running"))] == ["turn_2"]
    assert [one.turn for one in store.turns(msgspec.structs.replace(query, since_us=NOON_US))] == ["turn_1"]
    assert [one.turn for one in store.turns(msgspec.structs.replace(query, limit=1))] == ["turn_1"]
    found = store.turn("turn_2", "blue")
    assert found is not None
    assert found.started_us == NOON_US - 3 * DAY_US


def test_findings_are_kept_once_newest_first(store: Store) -> None:
    store.write(unit(findings=[finding(1), finding(2, at_us=NOON_US + 5, code="x")]))
    store.write(unit(findings=[finding(1)]))
    query = FindingQuery(team=None, since_us=0, until_us=1 << 60)
    assert [one.seq for one in store.findings(query)] == [2, 1]
    assert [one.seq for one in store.findings(msgspec.structs.replace(query, code="x"))] == [2]


def test_cells_add_up_across_units_and_openings(address: str, folder: Path) -> None:
    for _ in range(3):
        store = open_store(address, folder)
        store.write(unit(cells={key(): cell(2)}))
        store.write(unit(cells={key(): cell(1, ttft_ms=500.0)}))
        store.close()
    store = open_store(address, folder)
    [(bucket, dims, found)] = store.cells(60, 0, 1 << 40, "blue")
    assert (bucket, dims) == (key().bucket, DIMS)
    assert found.figures.calls == 9
    assert found.savings.calls == 9
    assert found.figures.percentile("ttft", 1.0) == pytest.approx(500, rel=0.01)
    assert [calls(store, level=level) for level in LEVELS] == [9, 9, 9]
    store.close()


def test_sums_beyond_64_bits_do_not_stop_the_store(store: Store) -> None:
    huge = Cell(figures=Figures())
    huge.figures.cost_nano = 1 << 80
    store.write(unit(cells={key(): huge}))
    assert store.cells(60, 0, 1 << 40, None)[0][2].figures.cost_nano == (1 << 63) - 1


def test_a_unit_that_failed_half_way_counts_once_when_it_is_written_again(files: SqliteStore, folder: Path) -> None:
    other = open_writable(folder / "rollups.db", ())
    other.execute("BEGIN IMMEDIATE")
    flush = unit(event(1), cells={key(): cell()})
    files._db.execute("PRAGMA busy_timeout = 50")
    with pytest.raises(StoreError) as caught:
        files.write(flush)
    assert caught.value.code == "store_busy"
    assert files.sources() == []
    other.execute("ROLLBACK")
    other.close()
    files.write(flush)
    assert calls(files) == 1
    assert list(files.events_between(0, 1 << 60, None)) == [b'{"seq":1}']
    assert [source.seq for source in files.sources()] == [1]


def test_retention_frees_disk_keeps_rollups_and_leaves_no_orphans(files: SqliteStore, folder: Path) -> None:
    for back in range(5):
        at_us = NOON_US - back * DAY_US
        rows = [event(seq, source=f"s{back}", at_us=at_us, body=b"x" * 500) for seq in range(1, 2001)]
        files.write(unit(*rows, cells={key(at_us=at_us): cell()}))
    before, count = files.disk_bytes(), len(list((folder / "days").iterdir()))
    now_s = NOON_US // 1_000_000
    done = files.expire(
        raw_before=day_of(NOON_US - DAY_US),
        cells_before={60: now_s - 2 * 86_400, 3600: 0, 86_400: 0},
        samples_before_us=0,
        seen_before_us=0,
        budget_s=30.0,
    )
    assert (done.files, done.backlog) == (3, False)
    assert files.days() == [day_of(NOON_US - DAY_US), day_of(NOON_US)]
    assert done.bytes_freed > 0.4 * before
    assert files.disk_bytes() < 0.6 * before
    assert len(list((folder / "days").iterdir())) <= count - 3
    assert {path.name[:10] for path in (folder / "days").iterdir()} == set(files.days())
    assert calls(files, level=86_400) == 5
    assert calls(files, level=60) == 3
    files.write(unit(event(1, source="new")))


def test_retention_deletes_old_samples_and_forgotten_sources(store: Store) -> None:
    store.write(unit(*[event(seq, kind=SAMPLE, at_us=NOON_US + seq) for seq in range(1, 101)]))
    store.write(unit(event(1, source="b", at_us=NOON_US - 10)))
    done = store.expire(
        raw_before="", cells_before={}, samples_before_us=NOON_US + 51, seen_before_us=NOON_US, budget_s=30.0
    )
    assert done.rows == 51
    assert [source.source for source in store.sources()] == ["a"]
    assert len(store.events_after({}, store.positions(), None, 1000)[0]) == 51


def test_retention_stops_when_its_time_is_up_and_goes_on_later(store: Store) -> None:
    for back in range(4):
        store.write(unit(event(1, source=f"s{back}", at_us=NOON_US - back * DAY_US)))

    def expire() -> bool:
        return store.expire(
            raw_before=day_of(NOON_US), cells_before={}, samples_before_us=0, seen_before_us=0, budget_s=0.0
        ).backlog

    assert expire()
    assert len(store.days()) == 3
    while expire():
        pass
    assert store.days() == [day_of(NOON_US)]


def test_retention_drops_whole_days_and_keeps_rollups(store: Store) -> None:
    for back in range(5):
        at_us = NOON_US - back * DAY_US
        rows = [event(seq, source=f"s{back}", at_us=at_us) for seq in range(1, 20)]
        store.write(
            unit(
                *rows,
                cells={key(at_us=at_us): cell()},
                turns={("blue", f"t{back}"): turn(f"t{back}", started_us=at_us)},
            )
        )
    before = store.disk_bytes()
    now_s = NOON_US // 1_000_000
    done = store.expire(
        raw_before=day_of(NOON_US - DAY_US),
        cells_before={60: now_s - 2 * 86_400, 3600: 0, 86_400: 0},
        samples_before_us=0,
        seen_before_us=0,
        budget_s=30.0,
    )
    assert (done.files, done.backlog) == (3, False)
    assert 0 < store.disk_bytes() < before
    assert store.days() == [day_of(NOON_US - DAY_US), day_of(NOON_US)]
    assert len(list(store.events_between(0, 1 << 60, None))) == 38
    assert store.turn("t4", None) is None
    assert [one.turn for one in store.turns(TurnQuery(team=None, since_us=0, until_us=1 << 60))] == ["t0", "t1"]
    assert calls(store, level=86_400) == 5
    assert calls(store, level=60) == 3
    store.write(unit(event(1, source="new", at_us=NOON_US - 4 * DAY_US)))
    assert store.days()[0] == day_of(NOON_US - 4 * DAY_US)


def test_hostile_names_are_kept_and_found_again(store: Store) -> None:
    for name in ("nul\0byte", "'; DROP TABLE event; --", "%s %(x)s {}", "\u202e"):
        held = turn(name)
        store.write(unit(event(1, source="quote'"), turns={("blue", name): held}))
        assert store.turn(name, "blue") is not None, name


def test_who_claimed_a_name_first_keeps_it(store: Store) -> None:
    for agent in ("ann", "eve"):
        store.write(unit(event(1), claims={("blue", "t"): Claim(team="blue", name="t", agent=agent, day="2026-01-01")}))
    assert store.owners("blue", ["t", "u"]) == {"t": "ann"}
    assert store.owners("red", ["t"]) == {}
    store.expire(raw_before="2026-01-02", cells_before={}, samples_before_us=0, seen_before_us=0, budget_s=9.0)
    assert store.owners("blue", ["t"]) == {}


def test_a_second_hub_is_kept_out_of_the_folder(files: SqliteStore, folder: Path) -> None:
    with pytest.raises(StateError) as caught:
        SqliteStore(folder)
    assert caught.value.code == "state_in_use"
    files.close()
    SqliteStore(folder).close()


def test_files_of_a_newer_version_are_refused(files: SqliteStore, folder: Path) -> None:
    files.close()
    db = open_writable(folder / "rollups.db", ())
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StateError) as caught:
        SqliteStore(folder)
    assert caught.value.code == "state_newer_schema"


def test_a_full_disk_is_told_apart_and_what_is_there_stays_readable(files: SqliteStore) -> None:
    files.write(unit(event(1)))
    day = next(iter(files._days._open.values()))
    pages = day.execute("PRAGMA page_count").fetchone()[0]
    day.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError) as caught:
        files.write(unit(*[event(seq, body=b"x" * 3000) for seq in range(2, 50)]))
    assert caught.value.code == "store_full"
    assert list(files.events_between(0, 1 << 60, None)) == [b'{"seq":1}']
    files.write(unit(event(2)))


def test_files_are_for_their_owner_only(files: SqliteStore, folder: Path) -> None:
    files.write(unit(event(1)))
    for path in folder.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_reader_never_finds_a_day_without_its_tables(store: Store) -> None:
    """Days are made while others ask; each answer is one of before or after."""
    query = TurnQuery(team=None, since_us=0, until_us=1 << 60)
    done = threading.Event()
    errors: list[StoreError] = []

    def ask() -> None:
        while not done.is_set():
            try:
                store.turns(query)
                store.positions()
            except StoreError as error:
                errors.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    for back in range(60):
        store.write(unit(event(1, source=f"s{back}", at_us=NOON_US - back * DAY_US)))
    done.set()
    asking.join(10)
    assert errors == []
    assert len(store.days()) == 60
