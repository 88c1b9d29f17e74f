"""Commands that other packages bring, through the command line."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from agent_core.cli.plugins import COMMANDS
from tests.support.system.cli import environment, loopline, started


@pytest.mark.parametrize("name", COMMANDS)
def test_each_is_installed_and_explains_itself(tmp_path: Path, name: str) -> None:
    done = loopline(name, "--help", env=environment(tmp_path))
    assert done.code == 0 and f"Usage: loopline {name}" in done.out
    assert loopline(name, "--no-such-option", env=environment(tmp_path)).code == 2
    assert name in loopline("--help", env=environment(tmp_path)).out


def test_wrong_options_are_one_line_and_code_2(tmp_path: Path) -> None:
    env = environment(tmp_path)
    for arguments in (("tui", "--speed", "-1"), ("lsp", "--stdio", "--tcp", "127.0.0.1:0"), ("web", "--port", "99999")):
        done = loopline(*arguments, env=env)
        assert done.code == 2 and "Traceback" not in done.err, done.err


def test_a_web_dashboard_starts_and_ends_on_a_signal(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    process = started("web", "--port", "0", "--ready-file", str(ready), env=environment(tmp_path / "home"))
    try:
        give_up = time.monotonic() + 60
        while not ready.exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < give_up
            time.sleep(0.01)
        said = json.loads(ready.read_text())
        assert said["url"].startswith("http://127.0.0.1:") and said["pid"] == process.pid
        assert {"link", "secret", "ingest_token"} <= said.keys()
        assert ready.stat().st_mode & 0o777 == 0o600
    finally:
        process.terminate()
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "Traceback" not in err and not out
