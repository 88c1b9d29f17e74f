"""The one place that starts a process; `tests/architecture/test_launch.py` finds any other.

A child takes nothing from the folder it happens to be started in: its program is found on absolute entries of PATH
alone, its environment is handed over whole, and nothing else is inherited. Processes of ours import from where Loopline
is installed (`python -I`: neither the working directory nor PYTHON… variables count), run in `NEUTRAL`, and get the
variables of `own_environment`. Commands of the agent, MCP servers and a project's own interpreter name their own folder
and environment; whether they may run is decided before they come here.
"""

from __future__ import annotations

import asyncio
import errno
import os
import site
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

NEUTRAL = "/"
"""Working directory of a process that needs none: nobody plants anything there who could not do worse."""

_PASSED = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "TERM", "COLORTERM"),
        *("NO_COLOR", "SSL_CERT_FILE", "SSL_CERT_DIR", "DBUS_SESSION_BUS_ADDRESS", "SYSTEMROOT"),
        # What a GPU's library is found by, and what llama.cpp reads.
        *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "OMP_NUM_THREADS"),
        *(name for proxy in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for name in (proxy, proxy.lower())),
    }
)
_PASSED_PREFIXES = ("LC_", "XDG_", "LOOPLINE_", "OTEL_", "CUDA_", "HIP_", "ROCR_", "GGML_", "LLAMA_", "VK_")
_SECRET_ENDINGS = ("_KEY", "_KEYS", "_TOKEN", "_SECRET", "_HEADERS")
"""Of the above, names with these endings are passed to a child only where it asks for them by name."""


def own_python(*arguments: str) -> list[str]:
    """The command line of this interpreter, isolated. `arguments` follow, e.g. `-c` and code."""
    return [sys.executable, *_isolation(), *arguments]


def own_module(module: str, *arguments: str) -> list[str]:
    """The command line of a module of ours as a process of its own."""
    return own_python("-m", module, *arguments)


def own_environment(base: Mapping[str, str], *keep: str, **extra: str) -> dict[str, str]:
    """What a process of ours gets of `base`: what it can need by name, no secrets but those in `keep`, and `extra`."""
    found = {
        name: value
        for name, value in base.items()
        if name in keep or name in _PASSED or (name.startswith(_PASSED_PREFIXES) and not name.endswith(_SECRET_ENDINGS))
    }
    return found | extra


def absolute_path(path: str) -> str:
    """A value of PATH without its relative and empty entries, which name whatever folder a process is in."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if entry.startswith("/"))


def find_program(name: str, environment: Mapping[str, str], outside: Sequence[str] = ()) -> str | None:
    """The program `name` on the absolute entries of PATH, but for those that are, or lead, below a folder in
    `outside`; None where there is none."""
    closed = [os.path.realpath(folder) for folder in outside]
    for entry in absolute_path(environment.get("PATH", os.defpath)).split(os.pathsep):
        path = os.path.join(entry, name)  # noqa: PTH118
        if entry and os.path.isfile(path) and os.access(path, os.X_OK) and not _below(path, closed):  # noqa: PTH113
            return path
    return None


def browse(url: str) -> None:
    """Show `url` in the user's browser, which `BROWSER` or an absolute entry of PATH names."""
    import webbrowser

    os.environ["PATH"] = absolute_path(os.environ.get("PATH", os.defpath))
    webbrowser.open(url)


def popen(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: str | Path = NEUTRAL,
    stdin: int | IO[Any] | None = subprocess.DEVNULL,
    stdout: int | IO[Any] | None = None,
    stderr: int | IO[Any] | None = None,
    new_session: bool = False,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a process whose pipes are read and written by the caller. Raises OSError, or ValueError for a NUL."""
    env = _environment(environment)
    return subprocess.Popen(
        list(argv),
        executable=_program(argv[0], env, cwd),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        env=env,
        start_new_session=new_session,
        pass_fds=tuple(pass_fds),
        bufsize=0,
    )


async def start(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: str | Path = NEUTRAL,
    stdin: int | IO[Any] | None = subprocess.DEVNULL,
    stdout: int | IO[Any] | None = None,
    stderr: int | IO[Any] | None = None,
    new_session: bool = False,
    pass_fds: Sequence[int] = (),
) -> asyncio.subprocess.Process:
    """`popen` for the event loop, which waits for the process and feeds its pipes."""
    env = _environment(environment)
    return await asyncio.create_subprocess_exec(
        *argv,
        executable=_program(argv[0], env, cwd),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        env=env,
        start_new_session=new_session,
        pass_fds=tuple(pass_fds),
    )


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    return {**given, "PATH": absolute_path(given["PATH"])} if "PATH" in given else dict(given)


def _program(name: str, environment: Mapping[str, str], cwd: str | Path) -> str:
    """Where `name` lies. A name without a slash is looked for here and not by the system, which would also look in
    the child's working directory where PATH has a relative entry."""
    if "/" in name:
        return os.path.join(cwd, name)  # noqa: PTH118
    found = find_program(name, environment)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return found


def _below(path: str, folders: Sequence[str]) -> bool:
    real = os.path.realpath(path)
    return any(f"{place}/".startswith(f"{folder.rstrip('/')}/") for folder in folders for place in (path, real))


def _isolation() -> tuple[str, ...]:
    """`-I`; where Loopline is installed for one user (`pip install --user`), without leaving that folder out."""
    package = os.path.realpath(__file__)
    user = site.getusersitepackages() if site.ENABLE_USER_SITE else None
    return ("-E", "-P") if user is not None and _below(package, [os.path.realpath(user)]) else ("-I",)
