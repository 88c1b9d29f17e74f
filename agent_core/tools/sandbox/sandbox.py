"""Sandboxes for commands: the workspace can be written, the rest only read, secrets not seen, no network.

Chosen once per session by trying: bubblewrap, else Landlock, on Linux; sandbox-exec on macOS; else none. A private
folder for scratch files stands in for /tmp and goes with the session. sandbox-exec is written after its manual and was
never tried by us.
"""

from __future__ import annotations

import functools
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

import msgspec

from agent_core import launch
from agent_core.config.paths import state_dir
from agent_core.tools.commands.environment import PYTHON_VARIABLE, with_git_settings
from agent_core.tools.commands.running import Command
from agent_core.tools.commands.scratch import Scratch, open_scratch
from agent_core.tools.sandbox import landlock, seccomp
from agent_core.tools.sandbox.covers import STAT_ONLY, Covers
from agent_core.tools.sandbox.guard import Guard
from agent_core.tools.sandbox.look import Look
from agent_core.tools.sandbox.mounts import Mount, below, scratch_mounts, workspace_mounts
from agent_core.tools.sandbox.paths import hidden_places, reduced
from agent_core.tools.workspace import git_places
from agent_core.tools.workspace.guarded import GIT
from agent_core.tools.workspace.workspace import Workspace
from agent_core.variables import variables

Kind = Literal["bubblewrap", "landlock", "sandbox-exec", "none"]

PROBE_LIMIT_S = 5.0
_ROOT_MAY = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETUID", "CAP_SETGID")
"""As `landlock.CAPABILITIES`."""

DESCRIPTIONS: Mapping[Kind, str] = {
    "bubblewrap": "bubblewrap: holds all of its guarantees",
    "landlock": "Landlock, with mounts, processes and a network of the command's own where those can be had",
    "sandbox-exec": "sandbox-exec: files and network (not tested by us)",
    "none": "none: commands can do what you can do",
}


class Found(msgspec.Struct, frozen=True):
    """Which sandbox holds here, and its program ("" for Landlock and none). `namespaces`: commands get mounts,
    processes and a network of their own, as they always do in bubblewrap; Landlock alone holds less."""

    kind: Kind
    program: str = ""
    namespaces: bool = False


def find_sandbox(environment: Mapping[str, str], outside: Sequence[str] = ()) -> Found:
    """The best that works, tried out; the answer is remembered for this process. A program below a folder in `outside`
    is none."""
    return _find(environment.get("PATH", os.defpath), tuple(outside))


@functools.lru_cache(maxsize=16)
def _find(path: str, outside: tuple[str, ...]) -> Found:
    if platform.system() == "Darwin":
        program = launch.find_program("sandbox-exec", {"PATH": path}, outside)
        return Found("sandbox-exec", program) if program else Found("none")
    program = launch.find_program("bwrap", {"PATH": path}, outside)
    if program is not None and _works([program, *_base(), *_namespaces(network=False), "--", "/bin/true"]):
        return Found("bubblewrap", program, namespaces=True)
    if landlock.version() >= landlock.NEEDED_VERSION:
        for namespaces in (True, False):
            spec = _specification(Found("landlock", namespaces=namespaces), [], [], [], network=False, cwd="/")
            if _works(landlock.argv(spec, ["/bin/true"])):
                return Found("landlock", namespaces=namespaces)
    return Found("none")


def _works(argv: Sequence[str]) -> bool:
    nowhere = subprocess.DEVNULL
    try:
        process = launch.popen(argv, environment=launch.own_environment(variables()), stdout=nowhere, stderr=nowhere)
    except OSError:
        return False
    try:
        return process.wait(PROBE_LIMIT_S) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        process.kill()
        process.wait()


class Sandbox:
    """Wraps the commands of one session. `visible` are secret places that commands may see all the same.

    `close` removes the folder for scratch files.
    """

    def __init__(
        self,
        found: Found,
        workspace: Workspace,
        environment: Mapping[str, str],
        *,
        network: bool = False,
        visible: Sequence[str] = (),
    ) -> None:
        self.found = found
        self._workspace, self._network, self._visible = workspace, network, tuple(visible)
        self._environment = environment
        self._scratch: str | None = None
        self._guard = Guard(workspace, self._aside)
        self._covers = Covers()
        self._read_only = False

    def confine(self, read_only: bool) -> None:
        """From the next command on: the workspace and git are only read as well, and there is no network; or not."""
        self._read_only = read_only

    def wrap(self, command: Command) -> Command:
        """The same command, confined. Nothing is done where there is no sandbox."""
        if self.found.kind == "none":
            return command
        scratch = self._folder()
        look = self._guard.begin()
        hidden = hidden_places(self._environment, self._visible)
        network = self._network and not self._read_only
        covers = self._covers.sources(look.secret, self._guard.repositories(look)) if self.found.namespaces else {}
        environment = reduced(command.environment, self._seen_as(scratch))
        if covers:
            environment = with_git_settings(environment, STAT_ONLY)
        if self.found.kind == "sandbox-exec":
            writable = () if self._read_only else self._workspace.roots
            profile = _profile(writable, scratch, [*hidden, *look.secret], [*look.guarded], network)
            argv = [self.found.program, "-p", profile, *command.argv]
            return msgspec.structs.replace(command, argv=argv, environment=environment, wrapper=argv[0])
        screen = seccomp.program(network=network, confined=self.found.namespaces)
        mounts = self._mounts(command, scratch, hidden, look, covers) if self.found.namespaces else []
        if self._read_only:
            mounts = [Mount("read", each.path) if each.kind == "write" and not each.source else each for each in mounts]
        if self.found.kind == "landlock":
            places = [*self._workspace.roots, *(each.common for each in self._guard.repositories(look))]
            write = [scratch, *([] if self._read_only else places)]
            spec = _specification(self.found, mounts, hidden, write, network=network, cwd=command.cwd)
            argv = landlock.argv({**spec, "filter": screen.hex()}, command.argv)
            return msgspec.structs.replace(command, argv=argv, environment=environment, wrapper=argv[0])
        argv = [self.found.program, *_base(), *(word for mount in mounts for word in _as_bind(mount))]
        argv += _namespaces(network=network)
        ending = ["--chdir", command.cwd, "--", *command.argv]
        return msgspec.structs.replace(
            command, argv=[*argv, *ending], environment=environment, wrapper=argv[0], screen=screen
        )

    def settle(self) -> list[str]:
        """After a command: what it made that would run by itself is set aside; a line for each."""
        return self._guard.settle() if self.found.kind != "none" else []

    def scratch(self) -> AbstractContextManager[Scratch]:
        """A fresh folder below the one for scratch files, as commands see it and as we do."""
        if self.found.kind == "none":
            return open_scratch()
        folder = self._folder()
        return open_scratch(folder, self._seen_as(folder))

    def _seen_as(self, scratch: str) -> str:
        """The folder for scratch files as commands know it."""
        return "/tmp" if self.found.namespaces else scratch

    async def close(self) -> None:
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None
        self._covers.close()

    def _folder(self) -> str:
        if self._scratch is None:
            self._scratch = os.path.realpath(tempfile.mkdtemp(prefix="loopline-"))
        return self._scratch

    def _aside(self) -> str:
        return str(state_dir(self._environment) / "set-aside" / os.path.basename(self._folder()))  # noqa: PTH119

    def _mounts(
        self, command: Command, scratch: str, hidden: Sequence[str], look: Look, covers: Mapping[str, str]
    ) -> list[Mount]:
        roots = self._workspace.roots
        shown = _needed_in_tmp(command)
        repositories = self._guard.repositories(look)
        git = list(dict.fromkeys(folder for each in repositories for folder in (each.common, each.folder)))
        fixed = [path for folder in git for path in git_places.code_of(folder)]
        for each in repositories:
            fixed += git_places.named_in_config(each)
        for entry in look.guarded.values():
            path = os.path.realpath(entry.path) if entry.link is not None else entry.path
            inside = any(below(path, root) and path != root for root in roots)
            if path not in git and inside and os.path.lexists(path):
                fixed.append(path)
        in_roots = [place for place in hidden if any(below(place, root) for root in roots)]
        # The host's /tmp is out of sight, but for what a command needs of it.
        unseen = [
            place
            for place in hidden
            if place not in in_roots and (not below(place, "/tmp") or any(below(place, folder) for folder in shown))
        ]
        closed = [*in_roots, *(path for path in look.secret if path not in covers)]
        return [
            *scratch_mounts(scratch, shown),
            *(Mount("read", each.top) for each in repositories if below(each.top, "/tmp")),
            *workspace_mounts(roots, git=git, fixed=fixed, closed=closed, unseen=unseen),
            *(Mount("read", path, source) for path, source in covers.items()),
        ]


def _specification(
    found: Found, mounts: Sequence[Mount], hidden: Sequence[str], write: Sequence[str], *, network: bool, cwd: str
) -> dict[str, object]:
    """For the launcher. Without namespaces devices and terminals are left out as well."""
    screen = seccomp.program(network=network, confined=found.namespaces).hex()
    common = {"network": network, "cwd": cwd, "filter": screen}
    if found.namespaces:
        places = [(mount.kind, mount.path, mount.source) for mount in mounts]
        writable = ["/tmp", "/var/tmp", *(mount.path for mount in mounts if mount.kind == "write")]
        return {"mounts": places, "read": ["/"], "write": writable, **common}
    inside = [place for place in hidden if not any(below(root, place) for root in write)]
    read = [*landlock.all_but([*inside, "/dev"]), *landlock.SAFE_DEVICES]
    return {"mounts": None, "read": read, "write": list(write), **common}


def _as_bind(mount: Mount) -> list[str]:
    """A mount as bubblewrap takes it."""
    if mount.kind == "empty":
        return ["--tmpfs", mount.path] if Path(mount.path).is_dir() else ["--ro-bind", "/dev/null", mount.path]
    return ["--bind" if mount.kind == "write" else "--ro-bind", mount.source or mount.path, mount.path]


def _base() -> list[str]:
    return ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]


def _namespaces(*, network: bool) -> list[str]:
    argv = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", *([] if network else ["--unshare-net"])]
    argv += ["--cap-drop", "ALL"]
    if os.geteuid() == 0:
        for name in _ROOT_MAY:
            argv += ["--cap-add", name]
    return argv


def _needed_in_tmp(command: Command) -> list[str]:
    """Folders below /tmp that a command needs to start: where programs, its interpreter and its home are."""
    home = command.environment.get("HOME", "")
    program = Path(command.argv[0])
    python = Path(command.environment.get(PYTHON_VARIABLE, ""))
    wanted = [home, str(program.parent), str(python.parent), *command.environment.get("PATH", "").split(os.pathsep)]
    wanted += [str(folder.parent) for folder in map(Path, wanted[1:]) if (folder.parent / "pyvenv.cfg").is_file()]
    real = {os.path.realpath(folder) for folder in wanted if folder.startswith("/") and Path(folder).is_dir()}
    return sorted(folder for folder in real if below(folder, "/tmp") and folder != "/tmp")


def _profile(roots: Sequence[str], scratch: str, hidden: Sequence[str], guarded: Sequence[str], network: bool) -> str:
    """A profile for sandbox-exec: the last rule that fits counts (sandbox-exec(1), Apple's own profiles)."""
    lines = ["(version 1)", "(allow default)", "(deny file-write*)"]
    lines += [f"(allow file-write* (subpath {_quoted(path)}))" for path in (*roots, scratch)]
    lines += [f"(allow file-write* (literal {_quoted(path)}))" for path in ("/dev/null", "/dev/zero")]
    lines += [f"(deny file-read* file-write* (subpath {_quoted(path)}))" for path in hidden]
    for path in guarded:
        inner = [f"{path}/{name}" for name in git_places.RUN_CODE] if path.endswith(f"/{GIT}") else [path]
        lines += [f"(deny file-write* (subpath {_quoted(each)}))" for each in inner]
        lines.append(f"(deny file-write-unlink (literal {_quoted(path)}))")
    if not network:
        lines += ["(deny network*)", '(allow network* (local ip "localhost:*") (remote ip "localhost:*"))']
    return "\n".join(lines)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
