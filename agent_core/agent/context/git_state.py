"""Where a folder stands in git: branch and changed files, read without running or obeying the repository.

Branch, commit and upstream are read from files (`git_repository`). What changed is asked of git itself, since comparing
trees, index and files is git's own and large work; but git is given a git directory of ours in place of the
repository's: HEAD by its object name, a configuration of ours, and the repository's index and objects to read. So
nothing that a repository configures exists for it: no promisor remote, no hook, fsmonitor, filter, alias, include,
attributes file, no discovery of another git directory on the way. A file that a content filter keeps in another form
may therefore show as changed. Of the user's own configuration `_USERS` holds. Every call is bounded in time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from agent_core import launch
from agent_core.agent.context.git_repository import Repository, find_repository

LIMIT_S = 2.0

MAX_SHARED_INDEXES = 8
_USERS = ("core.excludesfile", "core.autocrlf", "core.eol")
"""Keys of the user's own configuration that change what counts as changed."""

_known_keys: dict[tuple[object, ...], Sequence[tuple[str, str]]] = {}
"""Owned by `_users_keys`."""
MAX_KNOWN = 16

_OURS: Mapping[str, str] = {
    "core.fsmonitor": "false",
    "core.hookspath": os.devnull,
    "core.attributesfile": os.devnull,
    "core.untrackedcache": "false",
    "core.splitindex": "false",
    "safe.barerepository": "explicit",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "branch.here.remote": ".",
    "branch.here.merge": "refs/heads/upstream",
}

_FORMAT = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n"


class GitState(msgspec.Struct, frozen=True, kw_only=True):
    """`branch` "" for a detached head. `changed` maps paths relative to the folder to git's two letters (`.M`, `??`);
    None: not known, and `unread` says why."""

    branch: str
    commit: str
    ahead: int = 0
    behind: int = 0
    changed: Mapping[str, str] | None = None
    unread: str = ""


class Views:
    """Git directories of ours, one for each repository: made when it is first read, made anew when something that is in
    it changed. Making and removing one for each reading took longer than git itself. `close` removes them."""

    def __init__(self) -> None:
        self._known: dict[tuple[Path, Path], tuple[str, _Wanted]] = {}

    def of(self, found: Repository) -> str | None:
        """Where the repository's is. None where it lacks what git needs, or has it in a form to stay away from."""
        wanted = _wanted(found)
        if wanted is None:
            return None
        key = found.folder, found.common
        folder, known = self._known.get(key, ("", None))
        if known == wanted and _is_file(Path(folder) / "HEAD"):
            return folder
        self._forget(key)
        if len(self._known) >= MAX_KNOWN:
            self._forget(next(iter(self._known)))
        folder = tempfile.mkdtemp(prefix="loopline-git-")
        self._known[key] = folder, wanted
        _make_view(Path(folder), wanted)
        return folder

    def close(self) -> None:
        for key in list(self._known):
            self._forget(key)

    def _forget(self, key: tuple[Path, Path]) -> None:
        folder, _ = self._known.pop(key, ("", None))
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


async def read_git(folder: Path, environment: Mapping[str, str], views: Views) -> GitState | None:
    """None where the folder is in no repository. `views` are kept from one reading to the next by who calls."""
    found = await asyncio.to_thread(find_repository, folder)
    if found is None:
        return None
    if found.unread:
        return GitState(branch="", commit="", unread=found.unread)
    program = launch.find_program("git", environment, (str(found.top), str(folder)))
    state = GitState(branch=found.branch, commit=found.head[:12], unread="git is missing or could not compare them")
    if program is None:
        return state
    keys = await _users_keys(program, environment)
    view = views.of(found)
    if view is None:
        return state
    output = await _status(program, folder, _environment(environment, found, view, keys))
    if output is None:
        return state
    return _read(output, folder.relative_to(found.top).as_posix(), found)


class _Wanted(msgspec.Struct, frozen=True):
    """What is in a view: the format's name, objects by name of the reference, and where links lead by their names."""

    object_format: str
    heads: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]


def _wanted(found: Repository) -> _Wanted | None:
    index = found.folder / "index"
    if not ((found.common / "objects").is_dir() and (_is_file(index) or not os.path.lexists(index))):
        return None
    links = [(found.common / "info" / "exclude", "info/exclude"), (found.common / "shallow", "shallow")]
    links += [(path, path.name) for path in sorted(found.folder.glob("sharedindex.*"))[:MAX_SHARED_INDEXES]]
    return _Wanted(
        found.facts.get("extensions.objectformat", "sha1"),
        tuple((name, target) for name, target in (("here", found.head), ("upstream", found.upstream)) if target),
        tuple((str(path), name) for path, name in links if _is_file(path)),
    )


def _make_view(view: Path, wanted: _Wanted) -> None:
    """A git directory of ours."""
    heads = view / "refs" / "heads"
    (view / "info").mkdir()
    heads.mkdir(parents=True)
    (view / "HEAD").write_text("ref: refs/heads/here\n")
    # What says how a repository is kept counts in this file alone.
    (view / "config").write_text(_FORMAT + f"\tobjectformat = {wanted.object_format}\n")
    for name, target in wanted.heads:
        (heads / name).write_text(f"{target}\n")
    for path, name in wanted.links:
        (view / name).symlink_to(path)


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _environment(
    given: Mapping[str, str], found: Repository, view: str, keys: Sequence[tuple[str, str]]
) -> dict[str, str]:
    """All that git gets to know: where things are, our configuration, and where the user's own ignore file is."""
    settings = [*keys, *found.facts.items(), *_OURS.items()]
    named = {
        "GIT_DIR": view,
        "GIT_WORK_TREE": str(found.top),
        "GIT_INDEX_FILE": str(found.folder / "index"),
        "GIT_OBJECT_DIRECTORY": str(found.common / "objects"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for number, (key, value) in enumerate(settings):
        named |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return _users(given) | named


def _users(given: Mapping[str, str]) -> dict[str, str]:
    """What tells git where its user's own files are."""
    names = ("PATH", "HOME", "XDG_CONFIG_HOME")
    return {name: given[name] for name in names if name in given} | {"LC_ALL": "C"}


async def _users_keys(program: str, environment: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    """The user's own values of `_USERS`, asked for away from any repository; once per process and home."""
    chosen = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
    env = _users(environment) | {name: environment[name] for name in chosen if name in environment}
    remembered = (program, *sorted(env.items()))
    if remembered in _known_keys:
        return _known_keys[remembered]
    asked = "^(" + "|".join(key.replace(".", r"\.") for key in _USERS) + ")$"
    arguments = ("config", "--includes", "--null", "--get-regexp", asked)
    output = await _git([program, *arguments], launch.NEUTRAL, env | {"GIT_DIR": os.devnull})
    entries = (output or b"").decode("utf-8", "surrogateescape").split("\0")
    found = [(key, value) for key, newline, value in (entry.partition("\n") for entry in entries) if newline]
    if len(_known_keys) < MAX_KNOWN:
        _known_keys[remembered] = found
    return found


async def _status(program: str, folder: Path, env: Mapping[str, str]) -> bytes | None:
    wanted = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"]
    wanted += ["--ignore-submodules=all", "--no-renames", "--", "."]
    return await _git([program, *wanted], str(folder), env)


async def _git(argv: Sequence[str], cwd: str, environment: Mapping[str, str]) -> bytes | None:
    """What git prints; None if it fails, is missing or takes too long."""
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await launch.start(
            argv, environment=environment, cwd=cwd, stdout=pipe, stderr=nowhere, new_session=True
        )
    except (OSError, ValueError):
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
    return output if process.returncode == 0 else None


def _read(output: bytes, prefix: str, found: Repository) -> GitState:
    """git-status(1), "Porcelain Format Version 2"; its paths are relative to the top of the repository."""
    ahead, behind = 0, 0
    changed: dict[str, str] = {}
    below = "" if prefix == "." else f"{prefix}/"
    for entry in output.decode("utf-8", "surrogateescape").split("\0"):
        kind, _, rest = entry.partition(" ")
        if kind == "#":
            name, _, value = rest.partition(" ")
            if name == "branch.ab":
                ahead, behind = (abs(int(number)) for number in value.split())
        elif kind in ("1", "u", "?"):
            fields = rest.split(" ", {"1": 7, "u": 9, "?": 0}[kind])
            path = fields[-1].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            changed[path.removeprefix(below)] = "??" if kind == "?" else fields[0]
    return GitState(branch=found.branch, commit=found.head[:12], ahead=ahead, behind=behind, changed=changed)
