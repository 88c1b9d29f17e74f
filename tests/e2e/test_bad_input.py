"""Wrong input to `loopline run`: a clear message, the right exit code, nothing lost."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.support.system.cli import environment, loopline, tree


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path / "home")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "module.py").write_text("VALUE = 1\n")
    return folder


@pytest.mark.parametrize("task", ["", "   ", "\n"])
def test_a_task_of_no_words(env: dict[str, str], project: Path, task: str) -> None:
    done = loopline("run", task, "-w", str(project), env=env)
    assert (done.code, done.out) == (2, "")
    assert "task is empty" in done.err and "hint:" in done.err


def test_an_empty_task_from_standard_input(env: dict[str, str], project: Path) -> None:
    assert loopline("run", "-", "-w", str(project), env=env, stdin=" \n").code == 2


def test_a_folder_that_is_not_there(env: dict[str, str], tmp_path: Path) -> None:
    done = loopline("run", "x", "-w", str(tmp_path / "none"), env=env)
    assert done.code == 2 and str(tmp_path / "none") in done.err


@pytest.mark.parametrize(
    "arguments",
    [("--approve", "sometimes"), ("--transport", "pigeon"), ("--base-url", "example"), ("--no-such-option",)],
)
def test_options_that_can_not_be(env: dict[str, str], project: Path, arguments: tuple[str, ...]) -> None:
    done = loopline("run", "x", "-w", str(project), *arguments, env=env)
    assert (done.code, done.out) == (2, "")
    assert arguments[0] in done.err and "Traceback" not in done.err


def test_an_invalid_configuration_names_file_key_and_what_was_expected(env: dict[str, str], project: Path) -> None:
    file = Path(env["XDG_CONFIG_HOME"]) / "loopline" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('approve = "yes"\n')
    done = loopline("run", "x", "-w", str(project), env=env)
    assert done.code == 2
    assert str(file) in done.err and "approve" in done.err and "auto, ask or never" in done.err


def test_a_base_url_without_a_model(env: dict[str, str], project: Path) -> None:
    done = loopline("run", "x", "-w", str(project), "--base-url", "http://127.0.0.1:9/v1", env=env)
    assert done.code == 3 and "http://127.0.0.1:9/v1/models" in done.err and "--model NAME" in done.err


def test_a_service_that_nobody_runs(env: dict[str, str], project: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    before = tree(project)
    arguments = ("--base-url", f"http://127.0.0.1:{port}/v1", "--model", "m", "--json")
    done = loopline("run", "x", "-w", str(project), *arguments, env=env)
    assert done.code == 3
    assert done.summary["status"] == "failed"
    notices = [line["text"] for line in done.lines if line["type"] == "notice" and line["severity"] == "error"]
    assert len(notices) == 1 and str(port) in notices[0]
    assert tree(project) == before


def test_a_session_that_does_not_exist(env: dict[str, str], project: Path) -> None:
    for name in ("sess_none", "../../etc/passwd", ""):
        done = loopline("run", "x", "-w", str(project), "--resume", name, env=env)
        assert done.code == 2 and "Traceback" not in done.err
