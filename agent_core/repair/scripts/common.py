"""What survey and trial share: the scratch copy of the project, and one forked child per experiment."""

# Sent as text to interpreters that may be older: short beats modern.
# ruff: noqa: PTH103, PTH104, PTH109, PTH110, PTH113, PTH114, PTH116, PTH118, PTH123, PTH206, PTH208

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

JOB: dict[str, Any] = {}

SKIPPED_FOLDERS = {".git", ".hg", ".svn", ".venv", "venv", ".tox", ".nox", "node_modules", "__pycache__", ".cache"}
MAX_COPY_BYTES = 256 * 1024 * 1024
MAX_CHILD_MEMORY = 4 * 1024 * 1024 * 1024
PREFIX = "loopline-repair-"
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
CHILDREN: set[int] = set()
"""Forked and not waited for; `fork` and `stop` alone change it."""
WAIT_S, LOAD_S = 5, 30
"""Seconds by the clock that a child may take beyond its limits, and one that loads the tests first: ample for a busy
machine. Only what sleeps needs them; what loops ends by its processor time."""


MAX_STRETCH = 3.0
"""No longer than that, however busy the machine."""


def stretch() -> float:
    """How much longer it takes on a machine that does other things."""
    return min(max(os.getloadavg()[0] / (os.cpu_count() or 1), 1.0), MAX_STRETCH)


class TimeIsUp(BaseException):
    """Raised inside a test that ran for too long; not an Exception, so that code under test does not swallow it."""


class NoScratch(Exception):
    """The project can't be copied; the text says why."""


def say(word: str, value: Any) -> None:
    os.write(OUT, (word + " " + (value if isinstance(value, str) else json.dumps(value)) + "\n").encode())


def own_folder() -> str:
    """A new folder that no other run removes: its lock is held before it has the name by which others find it."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    new = os.path.join(folder, "lock.new")
    fcntl.flock(os.open(new, os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)
    os.rename(new, os.path.join(folder, "lock"))
    return folder


def abandoned(folder: str) -> bool:
    """Whether the run that made a scratch folder is gone; then its lock is ours for as long as this process lives."""
    try:
        if os.stat(folder).st_uid != os.getuid():
            return False
        descriptor = os.open(os.path.join(folder, "lock"), os.O_RDWR)
    except OSError:
        return False  # being made or removed by another run
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return False
    return True


def remove_stale() -> None:
    """Removes copies left by a run that was killed: nobody holds their lock any more."""
    base = tempfile.gettempdir()
    for name in os.listdir(base):
        path = os.path.join(base, name)
        if name.startswith(PREFIX) and abandoned(path):
            shutil.rmtree(path, ignore_errors=True)


def copy_tree(root: str, target: str) -> None:
    total = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if name not in SKIPPED_FOLDERS
            and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
            and not (name.startswith(".") and name.endswith("_cache"))
        )
        place = os.path.join(target, os.path.relpath(folder, root))
        os.makedirs(place, exist_ok=True)
        for name in files:
            path = os.path.join(folder, name)
            if name.endswith(".pyc") or not (os.path.isfile(path) or os.path.islink(path)):
                continue
            total += os.lstat(path).st_size
            if total > MAX_COPY_BYTES:
                raise NoScratch(f"the project is larger than {MAX_COPY_BYTES >> 20} MiB")
            shutil.copy2(path, os.path.join(place, name), follow_symlinks=os.path.isfile(path))


def read_text(path: str) -> tuple[str, str]:
    """Text with \\n newlines and one at its end, and the newline that the file uses."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        text = file.read()
    newline = "\r\n" if "\r\n" in text else "\n"
    return text.replace("\r\n", "\n").rstrip("\n") + "\n", newline


def changed_text(text: str, edits: list[Any]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def write_edits(base: str, edits: list[Any]) -> None:
    """Applies [path, start, end, text] to the files under `base`."""
    for path in {edit[0] for edit in edits}:
        full = os.path.join(base, path)
        text, newline = read_text(full)
        text = changed_text(text, [edit[1:] for edit in edits if edit[0] == path])
        with open(full, "w", encoding="utf-8", newline="") as file:
            file.write(text.replace("\n", newline))


def enter(root: str, base: str) -> None:
    """Makes this process run in the copy: folder, import path, and the finders of editable installs."""
    os.chdir(base)
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ["PWD"] = base

    def moved(path: str) -> str:
        inside = path == root or path.startswith(root + os.sep)
        part = os.path.relpath(path, root).split(os.sep)[0] if inside else ""
        return os.path.join(base, os.path.relpath(path, root)) if inside and part not in SKIPPED_FOLDERS else path

    sys.path[:] = [moved(path) if path else base for path in sys.path if path not in ("-",)]
    sys.path.insert(0, base)
    if os.environ.get("PYTHONPATH"):
        os.environ["PYTHONPATH"] = os.pathsep.join(moved(path) for path in os.environ["PYTHONPATH"].split(os.pathsep))
    for finder in sys.meta_path:
        mapping = getattr(sys.modules.get(getattr(finder, "__module__", "")), "MAPPING", None)
        if isinstance(mapping, dict):
            for name, place in mapping.items():
                if isinstance(place, str):
                    mapping[name] = moved(place)


def fork(work: Callable[[Callable[[dict[str, Any]], None]], None], processor_s: float = 0) -> tuple[int, int]:
    """Runs `work(report)` in a child; returns its pid and the pipe that its reports come through, one JSON per line."""
    reading, writing = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # a child that nobody knows of would be left
    pid = os.fork()
    if pid:
        CHILDREN.add(pid)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        os.close(writing)
        return pid, reading
    status = 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        CHILDREN.clear()
        os.close(reading)
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MAX_CHILD_MEMORY, MAX_CHILD_MEMORY))
            if processor_s:
                resource.setrlimit(resource.RLIMIT_CPU, (int(processor_s) + 2, int(processor_s) + 3))
        except (OSError, ValueError):
            pass  # a stricter limit holds already
        work(lambda message: _write_all(writing, (json.dumps(message) + "\n").encode()))
        status = 0
    except BaseException as error:
        _write_all(writing, (json.dumps({"broken": repr(error)[:300]}) + "\n").encode())
    finally:
        os._exit(status)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def messages(pid: int, pipe: int, quiet_s: float) -> Iterator[dict[str, Any]]:
    """What a child reports until it ends; it is killed once it says nothing for `quiet_s`."""
    buffer = b""
    try:
        while True:
            ready, _, _ = select.select([pipe], [], [], quiet_s)
            data = os.read(pipe, 1 << 16) if ready else b""
            if not data:
                break
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                yield json.loads(line)
    finally:
        stop(pid)
        os.close(pipe)


def stop(pid: int) -> None:
    """Ends a child; one that is waited for already is let be."""
    if pid in CHILDREN:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        CHILDREN.discard(pid)


def main(work: Callable[[str], None]) -> None:
    """Copies the project, works in the copy, removes it."""
    global OUT, BASE
    root = os.path.realpath(os.getcwd())
    OUT = os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    for number in ENDING:
        signal.signal(number, lambda *ignored: sys.exit(130))
    remove_stale()
    owner = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # whoever ends this program between the next lines waits
    holder = own_folder()
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        BASE = os.path.join(holder, "base")
        copy_tree(root, BASE)
        write_edits(BASE, JOB.get("base", []))
        enter(root, BASE)
        work(root)
        say("done", {"ok": True, "cpu_s": round(sum(os.times()[:4]), 1)})
    except NoScratch as error:
        say("done", {"ok": False, "why": str(error)})
    finally:
        if os.getpid() == owner:
            for number in ENDING:
                signal.signal(number, signal.SIG_IGN)
            for child in list(CHILDREN):
                stop(child)
            os.chdir("/")
            shutil.rmtree(holder, ignore_errors=True)


OUT = 1
BASE = ""
