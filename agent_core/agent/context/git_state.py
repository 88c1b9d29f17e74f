"""Where a folder stands in git: branch and changed files, read without letting the repository run anything.

Hooks, fsmonitor and optional locks are switched off, submodules are left alone, and a repository that configures
content filters of its own is not compared (git would run them). Every call is bounded in time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from agent_core.tools.commands.environment import command_environment

LIMIT_S = 2.0


class GitState(msgspec.Struct, frozen=True, kw_only=True):
    """`branch` "" for a detached head. `changed` maps paths relative to the folder to git's two letters (`.M`, `??`);
    None: not looked at."""

    branch: str
    commit: str
    ahead: int = 0
    behind: int = 0
    changed: Mapping[str, str] | None = None


async def read_git(folder: Path, environment: Mapping[str, str]) -> GitState | None:
    """None where the folder is in no repository, there is no git, or it does not answer in time."""
    top = next((each for each in (folder, *folder.parents) if os.path.lexists(each / ".git")), None)
    if top is None:
        return None
    env = _environment(environment)
    filters = await _git(folder, ("config", "--show-scope", "--name-only", "--get-regexp", r"^filter\."), env)
    if filters is None:
        return None
    compare = not any(line.startswith((b"local", b"worktree")) for line in filters.splitlines())
    untracked = "normal" if compare else "no"
    wanted = ["status", "--porcelain=v2", "--branch", "-z", f"--untracked-files={untracked}"]
    wanted += ["--ignore-submodules=all", "--no-renames", "--", "." if compare else ":(exclude)*"]
    output = await _git(folder, wanted, env)
    if output is None:
        return None
    return _read(output, folder.relative_to(top).as_posix(), compare=compare)


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Without variables that point git elsewhere, and with what a repository could start switched off."""
    kept = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    return command_environment(kept, trusted=False) | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


async def _git(folder: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> bytes | None:
    """What git prints; None if it fails (a configuration without a match is none), is missing or takes too long."""
    try:
        process = await asyncio.create_subprocess_exec(
            "git", "-C", str(folder), *arguments,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            env=dict(environment), start_new_session=True,
        )  # fmt: skip
    except OSError:
        return None
    try:
        async with asyncio.timeout(LIMIT_S):
            output, _ = await process.communicate()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    no_match = process.returncode == 1 and arguments[0] == "config"
    return output if process.returncode == 0 or no_match else None


def _read(output: bytes, prefix: str, *, compare: bool) -> GitState:
    """git-status(1), "Porcelain Format Version 2"; its paths are relative to the top of the repository."""
    branch, commit, ahead, behind = "", "", 0, 0
    changed: dict[str, str] = {}
    below = "" if prefix == "." else f"{prefix}/"
    for entry in output.decode("utf-8", "surrogateescape").split("\0"):
        kind, _, rest = entry.partition(" ")
        if kind == "#":
            name, _, value = rest.partition(" ")
            if name == "branch.head":
                branch = "" if value == "(detached)" else value
            elif name == "branch.oid":
                commit = "" if value == "(initial)" else value[:12]
            elif name == "branch.ab":
                ahead, behind = (abs(int(number)) for number in value.split())
        elif kind in ("1", "u", "?"):
            fields = rest.split(" ", {"1": 7, "u": 9, "?": 0}[kind])
            path = fields[-1].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            changed[path.removeprefix(below)] = "??" if kind == "?" else fields[0]
    return GitState(branch=branch, commit=commit, ahead=ahead, behind=behind, changed=changed if compare else None)
