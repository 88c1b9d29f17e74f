"""A byte that is no UTF-8 in a file's name, the workspace's path and the task's text: `loopline` works as ever."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.system.cli import environment, loopline


def test_a_run_where_names_and_task_are_no_utf8(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    (folder / os.fsdecode(b"f\xe9.py")).write_text("x = 1\n")
    env = environment(tmp_path / "home")
    task = os.fsdecode(b"look at f\xe9.py")
    done = loopline("run", task, "-w", str(folder), "--model", "scripted", "--approve", "auto", "--json", env=env)
    assert done.code == 0, done.err
    assert done.summary["status"] == "completed"
    assert "Traceback" not in done.err
    listed = loopline("sessions", env=env)
    assert "look at f\ufffd.py" in listed.out
    assert "damaged" not in listed.out
    again = loopline("run", task, "-w", str(folder), "--resume", session_of(listed.out), "--json", env=env)
    assert again.code == 0, again.err
    checked = loopline("doctor", "--json", env=env, cwd=folder)
    assert checked.code == 0, checked.err
    assert "Traceback" not in checked.err


def test_a_state_folder_whose_name_is_no_utf8(tmp_path: Path) -> None:
    home = Path(os.fsdecode(os.fsencode(tmp_path) + b"/hom\xe9"))
    home.mkdir()
    env = environment(home)
    (tmp_path / "project").mkdir()
    for command in (
        ("doctor", "--json"),
        ("run", "say hi", "-w", str(tmp_path / "project"), "--model", "scripted", "--json"),
        ("sessions", "--json"),
        ("export",),
    ):
        done = loopline(*command, env=env)
        assert done.code == 0, (command, done.err)
        assert "Traceback" not in done.err
        assert done.out


def session_of(listing: str) -> str:
    return next(word.rstrip("…") for line in listing.splitlines() for word in line.split() if word.startswith("sess_"))
