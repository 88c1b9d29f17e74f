"""The extension's own unit tests, on node: what needs no editor."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.suite.installing import locked
from tests.support.suite.parts import program

ROOT = Path(__file__).resolve().parents[3]
EXTENSION = ROOT / "extensions" / "vscode"
MODULES = "extensions/vscode/node_modules/.package-lock.json"


@pytest.mark.timeout(600)
def test_the_pure_modules_on_node() -> None:
    program("npm")
    with locked(ROOT / ".cache" / "editors" / "build"):
        for command, folder in ((["make", MODULES], ROOT), (["npm", "test"], EXTENSION)):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=250)
            assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-2000:]}"
    assert "# fail 0" in done.stdout or "ℹ fail 0" in done.stdout
