"""Real repositories of git for tests, without the settings of whoever runs them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ENV = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.email=a@b", "-c", "user.name=a", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *arguments], cwd=folder, env=ENV, check=True, capture_output=True)
