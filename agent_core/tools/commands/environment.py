"""The environment of commands, and the Python interpreter of a workspace."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from agent_core import launch
from agent_core.errors import ToolError
from agent_core.tools.commands.passed import passed

_STEADY = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PYTHONUNBUFFERED": "1",
    # Bytecode is found stale by seconds and size only; two edits within a second would run old code.
    "PYTHONDONTWRITEBYTECODE": "1",
}

_UNTRUSTED_GIT = {"core.fsmonitor": "false", "core.hooksPath": os.devnull}
"""What a folder could start by itself through git, switched off until the folder is trusted."""

_VENV_NAMES = (".venv", "venv")


PYTHON_VARIABLE = "LOOPLINE_PYTHON"
"""Names the setting `python`; commands see in it which interpreter the workspace has."""
ANOTHER_PYTHON = "name another with --python, the setting python or LOOPLINE_PYTHON, or activate an environment"


class Interpreter(msgspec.Struct, frozen=True):
    """`path` to run, and which rule chose it: setting, VIRTUAL_ENV, .venv, venv or PATH."""

    path: str
    rule: str

    @property
    def shown(self) -> str:
        """The path and why this one, for a person who wants another."""
        found = {"setting": "named by the setting python", "PATH": "the first python3 on PATH"}
        return f"{self.path} ({found.get(self.rule, f'from {self.rule}')})"


def command_environment(base: Mapping[str, str], *, trusted: bool, named: Sequence[str] = ()) -> dict[str, str]:
    """What a command of the agent gets: of `base` what passes by the list or was `named` by the user (the setting
    `environment`), no pager, no colours, no prompts."""
    found = {**passed(base, named), **_STEADY}
    return found if trusted else with_git_settings(found, _UNTRUSTED_GIT)


def with_git_settings(environment: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """`environment` with settings of git that win over those of all files, beside those that are in it."""
    found = dict(environment)
    count = int(found.get("GIT_CONFIG_COUNT", "0") or "0")
    for number, (key, value) in enumerate(settings.items(), count):
        found[f"GIT_CONFIG_KEY_{number}"], found[f"GIT_CONFIG_VALUE_{number}"] = key, value
    return {**found, "GIT_CONFIG_COUNT": str(count + len(settings))}


def find_interpreter(root: Path, *, setting: str | None, environment: Mapping[str, str], use_venv: bool) -> Interpreter:
    """The workspace's Python: setting, active VIRTUAL_ENV, `.venv` or `venv` if `use_venv`, then python3 on PATH.

    Never the environment that Loopline itself runs in, unless the setting names it. Raises ToolError `no_interpreter`.
    """
    if setting:
        path = _runnable(root / setting) if "/" in setting else launch.find_program(setting, environment)
        if path is None:
            raise ToolError(f"the setting python names {setting}, which can't be run", code="no_interpreter")
        return Interpreter(path, "setting")
    active = environment.get("VIRTUAL_ENV")
    candidates = [(Path(active), "VIRTUAL_ENV")] if active else []
    if use_venv:
        candidates += [(root / name, name) for name in _VENV_NAMES]
    for folder, rule in candidates:
        path = _runnable(folder / "bin" / "python")
        if path is not None and not _is_own(folder):
            return Interpreter(path, rule)
    for folder_name in environment.get("PATH", os.defpath).split(os.pathsep):
        folder = Path(folder_name)
        path = _runnable(folder / "python3") if folder.is_absolute() else None
        if path is not None and not _is_own(folder.parent):
            return Interpreter(path, "PATH")
    raise ToolError(
        "no Python found for this workspace; set `python`, activate an environment or make a .venv",
        code="no_interpreter",
    )


def _runnable(path: Path) -> str | None:
    return str(path) if path.is_file() and os.access(path, os.X_OK) else None


def _is_own(environment_folder: Path) -> bool:
    """True for the virtual environment that Loopline runs in. A system-wide Python is nobody's own."""
    if sys.prefix == sys.base_prefix:
        return False
    return os.path.realpath(environment_folder) == os.path.realpath(sys.prefix)
