"""Prompts and code stay out of telemetry unless the user turns them on, and never leave the machine with figures."""

from __future__ import annotations

from pathlib import Path

from tests.support.system.cli import environment, loopline

SECRET = "a very private task"


def _telemetry(env: dict[str, str]) -> dict[str, bytes]:
    folder = Path(env["XDG_STATE_HOME"]) / "loopline" / "telemetry"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _run(env: dict[str, str], project: Path) -> None:
    project.mkdir(exist_ok=True)
    assert loopline("run", SECRET, "-w", str(project), "--model", "scripted", "--json", env=env).code == 0


def test_by_default_no_text_is_kept(tmp_path: Path) -> None:
    env = environment(tmp_path / "home")
    _run(env, tmp_path / "project-of-mine")
    files = _telemetry(env)
    assert files and not any(name.startswith("content/") for name in files)
    joined = b"".join(files.values())
    assert SECRET.encode() not in joined and b"project-of-mine" not in joined


def test_content_lies_in_files_of_its_own_and_is_not_exported(tmp_path: Path) -> None:
    env = environment(tmp_path / "home")
    config = Path(env["XDG_CONFIG_HOME"]) / "loopline" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[telemetry]\ncontent = true\n")
    _run(env, tmp_path / "project")
    files = _telemetry(env)
    assert SECRET.encode() in b"".join(data for name, data in files.items() if name.startswith("content/"))
    assert SECRET.encode() not in b"".join(data for name, data in files.items() if not name.startswith("content/"))
    assert SECRET not in loopline("export", env=env).out


def test_a_workspace_can_not_turn_it_on(tmp_path: Path) -> None:
    env = environment(tmp_path / "home")
    own = tmp_path / "project" / ".loopline" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text("[telemetry]\ncontent = true\n")
    _run(env, tmp_path / "project")
    assert SECRET.encode() not in b"".join(_telemetry(env).values())
