"""`loopline import`: figures of other agents' logs in the journal, once, damaged lines set aside."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agent_core.cli.others.importing import Imported, find_logs, import_log, import_logs
from agent_core.errors import UsageError
from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.events import CallReported, Event
from agent_core.telemetry.journal.layout import list_journals
from agent_core.telemetry.journal.reader import read_journal
from agent_core.telemetry.rollup.rollup import Rollup

LOGS = Path(__file__).parents[3] / "corpus" / "sessions"
SECRET = b"the text of a conversation that nobody keeps"
FILES = {"codex": "codex-0.171.jsonl", "copilot": "copilot-1.0.102.jsonl", "claude": "made-claude.jsonl"}
FIGURES = {
    "codex": (2, 8107 + 8176, 7418 + 8127, 6 + 3),
    "copilot": (2, 10442 + 10494, 10466, 11 + 3),
    "claude": (2, 21_312 + 21_608, 20_400 + 21_300, 210 + 95),
}


def journal(states: Path) -> list[Event]:
    return [event for file in list_journals(states) for event in read_journal(file.path)]


def figures(states: Path) -> tuple[int, int, int, int]:
    total = Rollup().fold_all(journal(states)).groups.total
    return total.calls, total.input_tokens, total.cached_tokens, total.output_tokens


@pytest.mark.parametrize("agent", FILES)
def test_figures_come_in_once_and_no_text(agent: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    shutil.copy(LOGS / FILES[agent], log)
    assert SECRET in log.read_bytes()
    for expected in (2, 0):
        done = Imported()
        import_log(agent, log, tmp_path / "state", done)
        assert (done.calls, done.logs, done.aside) == (expected, 1, [])
    events = journal(tmp_path / "state")
    assert figures(tmp_path / "state") == FIGURES[agent]
    assert SECRET not in b"".join(map(encode_event, events))
    assert {event.reporter for event in events if isinstance(event, CallReported)} == {f"import:{agent}"}
    if agent == "codex":
        (turn,) = Rollup().fold_all(events).turns.values()
        assert (turn.turn, turn.status, len(turn.calls)) == ("91144cbb6966983bdbab8ac906b670f5", "completed", 2)


@pytest.mark.parametrize("agent", FILES)
@pytest.mark.parametrize("cut", [1, 3, 500, 2000])
def test_a_log_that_grows_is_read_on_and_a_kill_counts_nothing_twice(agent: str, cut: int, tmp_path: Path) -> None:
    whole, log, states = (LOGS / FILES[agent]).read_bytes(), tmp_path / "log.jsonl", tmp_path / "state"
    for size in (cut, len(whole) // 2, len(whole)):
        log.write_bytes(whole[:size])
        import_log(agent, log, states, Imported())
    for note in (states / "imports").iterdir():
        note.unlink()  # as if it had been killed before it was noted
    import_log(agent, log, states, Imported())
    assert figures(states) == FIGURES[agent]


def test_damaged_lines_are_set_aside_and_named(tmp_path: Path) -> None:
    lines = (LOGS / FILES["codex"]).read_bytes().splitlines(keepends=True)
    log = tmp_path / "log.jsonl"
    log.write_bytes(
        b"\x00\xff{\n" + b"[1]\n" + b"".join(lines) + b'{"timestamp": "soon", "type": "session_meta", "payload": {}}\n'
    )
    done = Imported()
    import_log("codex", log, tmp_path / "state", done)
    assert [one.partition(".jsonl:")[2] for one in done.aside] == [
        "1: no JSON", "2: no object", f"{len(lines) + 3}: no time",
    ]  # fmt: skip
    assert figures(tmp_path / "state") == FIGURES["codex"]


def test_logs_are_found_where_the_agent_leaves_them(tmp_path: Path) -> None:
    kept = tmp_path / ".codex" / "sessions" / "2026" / "12" / "01" / "rollout-x.jsonl"
    kept.parent.mkdir(parents=True)
    kept.write_text("")
    assert find_logs("codex", None, {"HOME": str(tmp_path)}) == [kept]
    assert find_logs("codex", None, {"CODEX_HOME": str(tmp_path / ".codex")}) == [kept]
    assert find_logs("codex", kept, {}) == [kept]
    assert find_logs("copilot", None, {"HOME": str(tmp_path)}) == []


def test_what_can_not_be_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected one of"):
        import_logs("cursor", tmp_path)
    with pytest.raises(UsageError, match="no logs"):
        import_logs("claude", tmp_path)
