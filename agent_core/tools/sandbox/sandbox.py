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
from agent_core.tools.commands.running import Command
from agent_core.tools.commands.scratch import Scratch, open_scratch
from agent_core.tools.sandbox import landlock
from agent_core.tools.sandbox.paths import guarded_files, hidden_places, reduced, secret_files
from agent_core.tools.workspace.workspace import Workspace

Kind = Literal["bubblewrap", "landlock", "sandbox-exec", "none"]

PROBE_LIMIT_S = 5.0
_ROOT_MAY = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETUID", "CAP_SETGID")
"""What root keeps inside: files of others in the workspace stay usable, mounts and devices stay out of reach."""

DESCRIPTIONS: Mapping[Kind, str] = {
    "bubblewrap": "bubblewrap: files, processes and network",
    "landlock": "Landlock: files and network; secret files inside the workspace stay readable, permissions of files "
    "outside can be changed, local sockets can be reached",
    "sandbox-exec": "sandbox-exec: files and network (not tested by us)",
    "none": "none: commands can do what you can do",
}


class Found(msgspec.Struct, frozen=True):
    """Which sandbox holds here, and its program ("" for Landlock and none)."""

    kind: Kind
    program: str = ""


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
        return Found("bubblewrap", program)
    if landlock.version() >= landlock.NEEDED_VERSION and _works(
        landlock.argv({"read": ["/"], "write": [], "network": False}, ["/bin/true"])
    ):
        return Found("landlock")
    return Found("none")


def _works(argv: Sequence[str]) -> bool:
    nowhere = subprocess.DEVNULL
    try:
        process = launch.popen(argv, environment=launch.own_environment(os.environ), stdout=nowhere, stderr=nowhere)
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

    def wrap(self, command: Command) -> Command:
        """The same command, confined. Nothing is done where there is no sandbox."""
        if self.found.kind == "none":
            return command
        scratch = self._folder()
        argv = self._wrapped(command, scratch)
        environment = reduced(command.environment, self._seen_as(scratch))
        return msgspec.structs.replace(command, argv=argv, environment=environment, wrapper=argv[0])

    def scratch(self) -> AbstractContextManager[Scratch]:
        """A fresh folder below the one for scratch files, as commands see it and as we do."""
        if self.found.kind == "none":
            return open_scratch()
        folder = self._folder()
        return open_scratch(folder, self._seen_as(folder))

    def _seen_as(self, scratch: str) -> str:
        """The folder for scratch files as commands know it."""
        return "/tmp" if self.found.kind == "bubblewrap" else scratch

    async def close(self) -> None:
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    def _folder(self) -> str:
        if self._scratch is None:
            self._scratch = os.path.realpath(tempfile.mkdtemp(prefix="loopline-"))
        return self._scratch

    def _wrapped(self, command: Command, scratch: str) -> list[str]:
        roots = self._workspace.roots
        hidden = hidden_places(self._environment, self._visible)
        if self.found.kind == "bubblewrap":
            argv = [self.found.program, *self._bubblewrap(command, scratch, hidden)]
            return [*argv, "--chdir", command.cwd, "--", *command.argv]
        if self.found.kind == "landlock":
            inside = [place for place in hidden if not any(_below(root, place) for root in roots)]
            spec = {
                "read": landlock.all_but(inside),
                "write": [*roots, scratch],
                "network": self._network,
            }
            return landlock.argv(spec, command.argv)
        profile = _profile(roots, scratch, [*hidden, *secret_files(roots, self._workspace.secrets)], self._network)
        return [self.found.program, "-p", profile, *command.argv]

    def _bubblewrap(self, command: Command, scratch: str, hidden: Sequence[str]) -> list[str]:
        roots = self._workspace.roots
        argv = [*_base(), "--bind", scratch, "/tmp", "--bind", scratch, "/var/tmp"]
        shown = _needed_in_tmp(command)
        for folder in shown:
            argv += ["--ro-bind", folder, folder]
        in_roots = [place for place in hidden if any(_below(place, root) for root in roots)]
        for place in hidden:
            # The host's /tmp is out of sight, but for what a command needs of it.
            in_sight = not _below(place, "/tmp") or any(_below(place, folder) for folder in shown)
            if in_sight and place not in in_roots:
                argv += _covered(place)
        for root in roots:
            argv += ["--bind", root, root]
        for place in [*in_roots, *secret_files(roots, self._workspace.secrets)]:
            argv += _covered(place)
        for path in guarded_files(roots):
            argv += ["--ro-bind", path, path]
        return [*argv, *_namespaces(network=self._network)]


def _base() -> list[str]:
    return ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]


def _namespaces(*, network: bool) -> list[str]:
    argv = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", *([] if network else ["--unshare-net"])]
    if os.geteuid() == 0:
        argv += ["--cap-drop", "ALL"]
        for name in _ROOT_MAY:
            argv += ["--cap-add", name]
    return argv


def _covered(place: str) -> list[str]:
    """Arguments that put something empty over a place."""
    return ["--tmpfs", place] if Path(place).is_dir() else ["--ro-bind", "/dev/null", place]


def _needed_in_tmp(command: Command) -> list[str]:
    """Folders below /tmp that a command needs to start: where programs, its interpreter and its home are."""
    home = command.environment.get("HOME", "")
    program = Path(command.argv[0])
    wanted = [home, str(program.parent), *command.environment.get("PATH", "").split(os.pathsep)]
    wanted += [str(folder.parent) for folder in map(Path, wanted[1:]) if (folder.parent / "pyvenv.cfg").is_file()]
    real = {os.path.realpath(folder) for folder in wanted if folder.startswith("/") and Path(folder).is_dir()}
    return sorted(folder for folder in real if _below(folder, "/tmp") and folder != "/tmp")


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _profile(roots: Sequence[str], scratch: str, hidden: Sequence[str], network: bool) -> str:
    """A profile for sandbox-exec: the last rule that fits counts (sandbox-exec(1), Apple's own profiles)."""
    lines = ["(version 1)", "(allow default)", "(deny file-write*)"]
    lines += [f"(allow file-write* (subpath {_quoted(path)}))" for path in (*roots, scratch)]
    lines += [f"(allow file-write* (literal {_quoted(path)}))" for path in ("/dev/null", "/dev/zero", "/dev/tty")]
    lines += [f"(deny file-read* file-write* (subpath {_quoted(path)}))" for path in hidden]
    lines += [f"(deny file-write* (subpath {_quoted(path)}))" for path in guarded_files(roots)]
    if not network:
        lines += ["(deny network*)", '(allow network* (local ip "localhost:*") (remote ip "localhost:*"))']
    return "\n".join(lines)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
