"""What keeps tests apart: a run, each of its worker processes and each test have homes of their own, and nothing of
the user's settings or keys reaches them. `tests/conftest.py` applies it, so a new test has it without asking."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CACHE = ROOT / ".cache"

KNOBS = frozenset({
    "LOOPLINE_BREAK", "LOOPLINE_CHROMIUM", "LOOPLINE_CLIENTS_DIR", "LOOPLINE_CODE_SERVER_DIR", "LOOPLINE_PICTURES",
    "LOOPLINE_README_PICTURES", "LOOPLINE_REPAIR_PROJECTS", "LOOPLINE_REPAIR_PYTHON", "LOOPLINE_SCREENSHOTS",
    "LOOPLINE_SEED", "LOOPLINE_SOAK_DIR", "LOOPLINE_SOAK_KILLS",
    "LOOPLINE_TEST_CACHE", "LOOPLINE_VSIX",
})  # fmt: skip
"""Variables by which tests themselves are told something; every other one of ours is cleared."""
CLEARED = ("LOOPLINE_", "OPENAI_", "CODEX_", "GIT_", "XDG_")
"""Beginnings of the names that would lead the product, a client or git elsewhere."""
SIZES = ("COLUMNS", "LINES")
"""What readline makes of no terminal: 80 by 24, also for a process on a terminal of another size."""
HOMES = ("CONFIG", "STATE", "CACHE", "DATA")


def homes(folder: Path) -> dict[str, str]:
    """The variables that put all homes below `folder`. What installers keep between runs, and the user's settings of
    them (which registry to ask), stay where they are."""
    return {
        "HOME": str(folder),
        **{f"XDG_{name}_HOME": str(folder / name.lower()) for name in HOMES},
        "XDG_RUNTIME_DIR": str(folder / "run"),
    }


def installers(user: Mapping[str, str]) -> dict[str, str]:
    """Variables that keep pip's and npm's caches, and how `user` (an environment) has set them up."""
    home = Path(user.get("HOME", "/nonexistent"))
    config = Path(user.get("XDG_CONFIG_HOME") or home / ".config")
    found = {"PIP_CACHE_DIR": str(CACHE / "pip"), "npm_config_cache": str(CACHE / "npm")}
    for name, places in {
        "PIP_CONFIG_FILE": (config / "pip" / "pip.conf", home / ".pip" / "pip.conf"),
        "npm_config_userconfig": (home / ".npmrc",),
    }.items():
        if name not in user and (place := next((place for place in places if place.is_file()), None)):
            found[name] = str(place)
    return {name: value for name, value in found.items() if name not in user}


def isolate(folder: Path, environment: MutableMapping[str, str] = os.environ) -> None:
    """Turn `environment` into that of a worker process: homes and temporary files below `folder`, no keys."""
    kept = installers(environment)
    for name in [name for name in environment if name.startswith(CLEARED) and name not in KNOBS]:
        del environment[name]
    for name in SIZES:
        environment.pop(name, None)
    home, temporary = folder / "home", folder / "tmp"
    for each in (home, temporary):
        each.mkdir(parents=True, exist_ok=True)
    environment.update({**kept, **homes(home), "TMPDIR": str(temporary), "GIT_CONFIG_NOSYSTEM": "1"})
    tempfile.tempdir = None  # asked again, from TMPDIR


@contextlib.contextmanager
def own_home(folder: Path) -> Iterator[None]:
    """While this holds, all homes are below `folder`, which is made, and removed after."""
    folder.mkdir(parents=True)
    new = homes(folder)
    before = {name: os.environ.get(name) for name in new}
    os.environ.update(new)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)
