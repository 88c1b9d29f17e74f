"""Commands that look after what is kept, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.system.cli import Done, environment, loopline


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path / "home", LOOPLINE_KEYRING="off")


def _run(env: dict[str, str], folder: Path) -> Done:
    (folder / "project").mkdir(exist_ok=True)
    return loopline("run", "say hi", "-w", str(folder / "project"), "--model", "scripted", "--json", env=env)


def test_a_key_is_set_shown_without_its_value_and_removed(env: dict[str, str]) -> None:
    assert loopline("auth", "status", env=env).code == 1
    done = loopline("auth", "set", env=env, stdin="sk-secret-1\n")
    assert done.code == 0 and "sk-secret-1" not in done.out + done.err
    done = loopline("auth", "status", env=env)
    assert done.code == 0 and "keys.json" in done.out and "sk-secret-1" not in done.out
    assert loopline("auth", "remove", env=env).code == 0
    assert loopline("auth", "remove", env=env).code == 2


def test_config_names_the_origin_of_each_value(env: dict[str, str], tmp_path: Path) -> None:
    done = loopline("config", "--json", "-w", str(tmp_path), env={**env, "LOOPLINE_MODEL": "m"})
    by_key = {line["key"]: line for line in done.lines}
    assert by_key["model"]["value"] == "m" and by_key["model"]["where"] == "LOOPLINE_MODEL"
    assert by_key["approve"]["layer"] == "default"
    assert loopline("trust", str(tmp_path), env=env).code == 0
    done = loopline("config", "--json", "-w", str(tmp_path), env=env)
    trusted = next(line for line in done.lines if line["key"] == "trusted")
    assert trusted["value"] == [str(tmp_path.resolve())] and trusted["layer"] == "user"
    assert loopline("trust", str(tmp_path / "none"), env=env).code == 2


def test_sessions_are_listed_shown_renamed_forked_and_deleted(env: dict[str, str], tmp_path: Path) -> None:
    assert "No sessions yet" in loopline("sessions", env=env).out
    assert _run(env, tmp_path).code == 0
    (entry,) = loopline("sessions", "--json", env=env).lines
    assert (entry["model"], entry["turns"], entry["status"]) == ("scripted", 1, "completed")
    shown = loopline("sessions", "show", entry["id"], env=env).out
    assert "say hi" in shown and "● list" in shown
    assert loopline("sessions", "rename", entry["id"], "first try", env=env).code == 0
    copy = loopline("sessions", "fork", entry["id"], env=env).out.strip()
    titles = {line["id"]: line["title"] for line in loopline("sessions", "list", "--json", env=env).lines}
    assert titles == {entry["id"]: "first try", copy: "fork of first try"}
    assert loopline("sessions", "delete", copy, env=env).code == 0
    assert loopline("sessions", "delete", copy, env=env).code == 2
    assert [line["id"] for line in loopline("sessions", "--json", env=env).lines] == [entry["id"]]


def test_export_gives_the_events_of_a_run(env: dict[str, str], tmp_path: Path) -> None:
    assert _run(env, tmp_path).code == 0
    events = loopline("export", env=env).lines
    assert {"session.started", "turn.finished", "call.sent", "service.call"} <= {event["type"] for event in events}
    session = next(event["session"] for event in events if event["type"] == "session.started")
    only = loopline("export", "--session", session, env=env).lines
    assert only and all(event["session"] == session for event in only)
    table = loopline("export", "--format", "csv", "-o", str(tmp_path / "out.csv"), env=env)
    assert table.code == 0 and (tmp_path / "out.csv").read_text().startswith("type,")
    assert loopline("export", "--format", "xls", env=env).code == 2
    assert loopline("export", "--since", "yesterdayish", env=env).code == 2


def test_doctor_finds_a_service_that_starts(env: dict[str, str]) -> None:
    done = loopline("doctor", "--json", env=env)
    states = {line["name"]: line["state"] for line in done.lines}
    assert done.code == 0, done.out
    assert states["embedded service"] == states["state"] == states["settings"] == "ok"
    assert states["key"] == "note"


def test_doctor_says_what_is_bad_and_what_to_do(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = loopline("doctor", "--json", env={**env, "XDG_STATE_HOME": str(tmp_path / "file")})
    bad = [line for line in done.lines if line["state"] == "bad"]
    assert done.code == 1 and bad[0]["name"] == "state" and "XDG_STATE_HOME" in bad[0]["remedy"]


def test_no_hub_is_said_to_be_none(env: dict[str, str]) -> None:
    done = loopline("hub", "status", env=env)
    assert done.code == 2 and "loopline hub join" in done.out
    assert loopline("hub", "join", "nowhere", env=env, stdin="t\n").code == 2
    assert loopline("hub", "join", "http://127.0.0.1:9", env=env, stdin="token-1\n").code == 0
    assert loopline("hub", "status", env=env).code == 1
    assert json.loads((Path(env["XDG_CONFIG_HOME"]) / "loopline" / "keys.json").read_text()) == {
        "hub": {"key": "token-1", "origin": "http://127.0.0.1:9"}
    }
    assert loopline("hub", "leave", env=env).code == 0
    assert loopline("hub", "status", env=env).code == 2
