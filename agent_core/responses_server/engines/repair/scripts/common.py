"""What survey and trial share: a scratch copy of the project, tests loaded once, one forked child per experiment."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterator
from typing import Any

JOB: dict[str, Any] = {}

SKIPPED_FOLDERS = {".git", ".hg", ".svn", ".venv", "venv", ".tox", ".nox", "node_modules", "__pycache__", ".cache"}
MAX_COPY_BYTES = 256 * 1024 * 1024
MAX_CHILD_MEMORY = 4 * 1024 * 1024 * 1024
PREFIX = "loopline-repair-"


class TimeIsUp(BaseException):
    """Raised inside a test that ran for too long; not an Exception, so that code under test does not swallow it."""


class NoScratch(Exception):
    """The project can't be copied; the text says why."""


def say(word: str, value: Any) -> None:
    os.write(OUT, (word + " " + (value if isinstance(value, str) else json.dumps(value)) + "\n").encode())


def remove_stale() -> None:
    """Removes copies left by a run that was killed: their owner is no more."""
    base = tempfile.gettempdir()
    for name in os.listdir(base):
        pid = name[len(PREFIX) :].partition("-")[0] if name.startswith(PREFIX) else ""
        if not pid.isdigit() or os.path.exists("/proc/" + pid) or not os.path.exists("/proc"):
            continue
        path = os.path.join(base, name)
        if os.stat(path).st_uid == os.getuid():
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
                raise NoScratch("the project is larger than %d MiB" % (MAX_COPY_BYTES >> 20))
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
    if "pytest" in JOB["runner"] or JOB["runner"] == "unittest":
        sys.path.insert(0, base)
    if os.environ.get("PYTHONPATH"):
        os.environ["PYTHONPATH"] = os.pathsep.join(moved(path) for path in os.environ["PYTHONPATH"].split(os.pathsep))
    for finder in sys.meta_path:
        mapping = getattr(sys.modules.get(getattr(finder, "__module__", "")), "MAPPING", None)
        if isinstance(mapping, dict):
            for name, place in mapping.items():
                if isinstance(place, str):
                    mapping[name] = moved(place)


class Tests:
    """The tests of the copy, loaded once by `load`; `run` runs some of them in this process."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.items: dict[str, Any] = {}
        self.broken: list[dict[str, Any]] = []
        self.session: Any = None

    def load(self, args: list[str], ready: Callable[[], None]) -> None:
        """Collects the tests, then calls `ready` while they are loaded."""
        if JOB["runner"] == "unittest":
            self._load_unittest(args)
            ready()
            return
        import pytest

        extra = ["-p", "no:cacheprovider", "-p", "no:randomly", "-q"]
        extra += ["-n0"] if importlib.util.find_spec("xdist") else []
        extra += ["--no-cov"] if importlib.util.find_spec("pytest_cov") else []
        self._ready = ready
        pytest.main([*args, *extra], plugins=[self])

    def _load_unittest(self, args: list[str]) -> None:
        loader = unittest.TestLoader()
        suites = []
        if args and args[0] != "discover":
            suites.append(loader.loadTestsFromNames(args))
        else:
            options = {"-s": ".", "-p": "test*.py", "-t": None}  # type: Dict[str, Optional[str]]
            rest = args[1:]
            for at, word in enumerate(rest):
                if word in options and at + 1 < len(rest):
                    options[word] = rest[at + 1]
            suites.append(loader.discover(str(options["-s"]), str(options["-p"]), options["-t"]))
        stack = list(reversed(suites))
        while stack:
            suite = stack.pop()
            if isinstance(suite, unittest.TestSuite):
                stack.extend(reversed(list(suite)))
            else:
                self.items[suite.id()] = suite

    # hooks of pytest: this object is a plugin

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.broken.append(
                {"id": report.nodeid, "type": "ImportError", "message": str(report.longrepr)[-2000:], "frames": []}
            )

    def pytest_runtestloop(self, session: Any) -> bool:
        self.session = session
        self.items = {item.nodeid: item for item in session.items}
        self._ready()
        return True

    def run(self, ids: list[str], limit_s: float, report: Callable[[dict[str, Any]], None], around: Any = None) -> None:
        """Runs tests in order. Each gets `limit_s` of processor time; `around(id)` is entered for each."""
        signal.signal(signal.SIGVTALRM, _time_is_up)
        if JOB["runner"] == "unittest":
            result = _Result(limit_s, report, around)
            unittest.TestSuite([self.items[name] for name in ids]).run(result)
            return
        watcher = _Watcher(report)
        self.session.config.pluginmanager.register(watcher)
        chosen = [self.items[name] for name in ids]
        for position, item in enumerate(chosen):
            following = chosen[position + 1] if position + 1 < len(chosen) else None
            report({"begin": item.nodeid})
            watcher.begin(item.nodeid)
            with around(item.nodeid) if around else _nothing():
                _start_timer(limit_s)
                try:
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                except TimeIsUp:
                    watcher.failure = {"id": item.nodeid, "type": "TimeIsUp", "message": "ran too long", "frames": []}
                finally:
                    _start_timer(0)
            report(watcher.end())


def _time_is_up(number: int, frame: Any) -> None:
    raise TimeIsUp("ran too long")


def _start_timer(limit_s: float) -> None:
    signal.setitimer(signal.ITIMER_VIRTUAL, limit_s, limit_s / 4)


class _nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *ignored: Any) -> None:
        return None


def describe(name: str, error: BaseException | None) -> dict[str, Any]:
    """What a failing test says: type, message, and the frames inside the project."""
    frames = []
    traceback = error.__traceback__ if error else None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        path = os.path.realpath(code.co_filename)
        if path.startswith(BASE + os.sep):
            frames.append([os.path.relpath(path, BASE), traceback.tb_lineno, code.co_name])
        traceback = traceback.tb_next
    message = re.sub(r"0x[0-9a-f]+", "0x", str(error))[:600]
    return {
        "id": name,
        "type": type(error).__name__,
        "message": message,
        "frames": frames[-1:] if len(frames) > 40 else frames,
    }


class _Watcher:
    """Follows one test of pytest from its set-up to its end."""

    def __init__(self, report: Callable[[dict[str, Any]], None]) -> None:
        self.name, self.failure, self.skipped, self.started = "", None, False, 0.0  # type: str, Any, bool, float

    def begin(self, name: str) -> None:
        self.name, self.failure, self.skipped, self.started = name, None, False, time.perf_counter()

    def end(self) -> dict[str, Any]:
        outcome = "failed" if self.failure else "skipped" if self.skipped else "passed"
        return {
            "end": self.name,
            "outcome": outcome,
            "s": round(time.perf_counter() - self.started, 4),
            "failure": self.failure,
        }

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and self.failure is None:
            self.failure = {"id": self.name, "type": "Failed", "message": str(report.longrepr)[-400:], "frames": []}
        self.skipped = self.skipped or report.skipped

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        """Comes after the report of the same phase, with the exception itself."""
        if call.excinfo is not None and report.failed and self.failure and self.failure["type"] == "Failed":
            self.failure = describe(self.name, call.excinfo.value)


class _Result(unittest.TestResult):
    """Follows the tests of unittest."""

    def __init__(self, limit_s: float, report: Callable[[dict[str, Any]], None], around: Any) -> None:
        super().__init__()
        self.limit_s, self.report, self.around = limit_s, report, around
        self.failure = None  # type: Optional[Dict[str, Any]]
        self.outcome, self.started = "passed", 0.0
        self.context = _nothing()  # type: Any

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self.failure, self.outcome, self.started = None, "passed", time.perf_counter()
        self.report({"begin": test.id()})
        self.context = self.around(test.id()) if self.around else _nothing()
        self.context.__enter__()
        _start_timer(self.limit_s)

    def stopTest(self, test: Any) -> None:
        _start_timer(0)
        self.context.__exit__(None, None, None)
        seconds = round(time.perf_counter() - self.started, 4)
        self.report({"end": test.id(), "outcome": self.outcome, "s": seconds, "failure": self.failure})
        super().stopTest(test)

    def _failed(self, test: Any, error: Any) -> None:
        _start_timer(0)
        if self.failure is None:
            self.failure, self.outcome = describe(test.id(), error[1]), "failed"
            if not isinstance(test, unittest.TestCase):  # a set-up of a class or module
                self.report({"end": test.id(), "outcome": "failed", "s": 0, "failure": self.failure})

    def addError(self, test: Any, err: Any) -> None:
        self._failed(test, err)

    def addFailure(self, test: Any, err: Any) -> None:
        self._failed(test, err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._failed(test, err)

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.failure = {"id": test.id(), "type": "UnexpectedSuccess", "message": "", "frames": []}
        self.outcome = "failed"

    def addSkip(self, test: Any, reason: str) -> None:
        self.outcome = "skipped"


def fork(work: Callable[[Callable[[dict[str, Any]], None]], None], processor_s: float = 0) -> tuple[int, int]:
    """Runs `work(report)` in a child; returns its pid and the pipe that its reports come through, one JSON per line."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    status = 1
    try:
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
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.waitpid(pid, 0)


def main(work: Callable[[str], None]) -> None:
    """Copies the project, works in the copy, removes it."""
    global OUT, BASE
    root = os.path.realpath(os.getcwd())
    OUT = os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *ignored: sys.exit(130))
    remove_stale()
    holder = os.path.realpath(tempfile.mkdtemp(prefix=PREFIX + "%d-" % os.getpid()))
    owner = os.getpid()
    try:
        BASE = os.path.join(holder, "base")
        copy_tree(root, BASE)
        write_edits(BASE, JOB.get("base", []))
        enter(root, BASE)
        work(root)
        say("done", {"ok": True})
    except NoScratch as error:
        say("done", {"ok": False, "why": str(error)})
    finally:
        if os.getpid() == owner:
            os.chdir("/")
            shutil.rmtree(holder, ignore_errors=True)


OUT = 1
BASE = ""
