"""`loopline import`: figures of other agents' logs in the journal, once, damaged lines set aside."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from agent_core.cli.others.importing import Imported, find_logs, import_log, import_logs
from agent_core.cli.others.logs import Claude
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
    if agent == "copilot":  # nothing was said after it, so that its end is not known
        (turn,) = Rollup().fold_all(events).turns.values()
        assert (turn.turn, turn.status, len(turn.calls)) == ("6d92561b-c139-434b-95e0-ddd1153f06cb", None, 2)


def test_an_interaction_of_copilot_is_over_when_the_next_thing_is_said(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    shutil.copy(LOGS / FILES["copilot"], log)
    with log.open("a") as file:
        file.write('{"type": "user.message", "timestamp": "2026-12-01T11:07:30.000Z", "data": {"content": "more"}}\n')
    import_log("copilot", log, tmp_path / "state", Imported())
    (turn,) = Rollup().fold_all(journal(tmp_path / "state")).turns.values()
    assert (turn.status, len(turn.calls)) == ("completed", 2) and 227 < turn.duration_ms < 229


def test_a_turn_of_claude_goes_from_what_was_said_to_a_reply_that_asks_for_nothing(tmp_path: Path) -> None:
    def line(kind: str, at_s: int, message: dict[str, object], **more: object) -> str:
        told = {"type": kind, "sessionId": "s-1", "uuid": f"u-{at_s}", "timestamp": f"2026-12-01T10:00:{at_s:02}Z"}
        return json.dumps({**told, "message": message, **more}) + "\n"

    def reply(number: int, stop: str) -> dict[str, object]:
        usage = {"input_tokens": 5, "output_tokens": 2}
        return {"id": f"m{number}", "model": "m", "stop_reason": stop, "usage": usage}

    log = tmp_path / "log.jsonl"
    log.write_text(
        line("user", 1, {"content": "do it"})
        + line("assistant", 3, reply(1, "tool_use"))
        + line("user", 4, {"content": [{"type": "tool_result", "content": "x"}]})
        + line("user", 5, {"content": "a note"}, isMeta=True)
        + line("user", 6, {"content": "look"}, isSidechain=True)
        + line("assistant", 7, reply(2, "end_turn"), isSidechain=True)
        + line("assistant", 9, reply(3, "end_turn"))
        + line("assistant", 9, reply(3, "end_turn"))
        + line("user", 20, {"content": [{"type": "text", "text": "and that"}]})
    )
    done = Imported()
    import_log("claude", log, tmp_path / "state", done)
    first, second = Rollup().fold_all(journal(tmp_path / "state")).turns.values()
    assert (done.calls, done.aside) == (3, [])
    assert (first.turn, first.status, len(first.calls), first.duration_ms) == ("u-1", "completed", 3, 8_000)
    assert (second.turn, second.status, second.calls) == ("u-20", None, [])


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


def test_a_log_that_is_none_is_passed_over_and_costs_no_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    os.mkfifo(folder / "a.jsonl")
    (folder / "b.jsonl").symlink_to("/dev/zero")
    (folder / "c.jsonl").symlink_to("c.jsonl")
    (folder / "d.jsonl").mkdir()
    (folder / "e.jsonl").write_text("[" * 100_000 + "\n" + '{"type": ' * 50_000 + "\n" + "9" * 100_000 + "\n")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    import_logs("claude", folder)
    said = capsys.readouterr()
    assert "a named pipe, no log" in said.err and "a device, no log" in said.err
    assert said.err.count("passed over") == 4 and "0 calls of claude are new, of 1 logs, 3 damaged lines" in said.out


@pytest.mark.parametrize("odd", ["a" * 64 + "\x1b]0;x\x07", "a\n", "a" * 129, "../../x", "a b"])
def test_ids_of_logs_hold_nothing_else(odd: str) -> None:
    line = {"type": "assistant", "sessionId": odd, "timestamp": "2026-12-01T00:00:00Z",
            "message": {"id": odd, "usage": {"input_tokens": 1}}}  # fmt: skip
    events = [event for _, event in Claude().line(line)]
    assert not [event for event in events if event.session or event.call]
