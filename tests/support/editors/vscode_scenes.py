"""Projects, servers and settings for tests in VS Code."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.support.suite.parts import program

LOOPLINE = Path(sys.executable).with_name("loopline")
"""The server under test: this environment's."""


def seed() -> int:
    """Drawn for each run unless `LOOPLINE_SEED` says it; part of what a failing test prints."""
    said = os.environ.get("LOOPLINE_SEED")
    return int(said) if said else int.from_bytes(os.urandom(4))


def server_script(path: Path, body: str, version: str = "0.1.0") -> Path:
    """A program that says it is Loopline `version`, and does `body` (shell) when asked to be a server."""
    path.write_text(
        f'#!/bin/sh\ncase "$1" in --version) echo "loopline {version}"; exit 0;; esac\n'
        f'case "$*" in *--help*) exit 0;; esac\n{body}\n'
    )
    path.chmod(0o755)
    return path


def small_project(folder: Path) -> Path:
    """Two files and a failing sum."""
    project = folder / "sums"
    project.mkdir()
    (project / "sums.py").write_text("def add(a, b):\n    return a - b\n\n\ndef twice(a):\n    return add(a, a)\n")
    (project / "other.py").write_text("x = 1\n")
    return project


def read_only_server(path: Path, project: Path) -> Path:
    """The server under test, for which `project` can't be written, whoever runs it."""
    bwrap = program("bwrap")
    path.write_text(f'#!/bin/sh\nexec {bwrap} --dev-bind / / --ro-bind {project} {project} {LOOPLINE} "$@"\n')
    path.chmod(0o755)
    return path
