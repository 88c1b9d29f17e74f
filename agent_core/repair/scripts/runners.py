"""The tests of the scratch copy, pytest's or unittest's: loaded once, run as often as wanted."""

# Sent as text to interpreters that may be older: short beats modern.
# ruff: noqa: B905, PTH118, PTH120

from __future__ import annotations

import importlib.util
import os
import re
import signal
import sys
import time
import unittest
from collections.abc import Callable
from typing import Any

from agent_core.repair.scripts import common
from agent_core.repair.scripts.common import JOB, TimeIsUp

DEAF_S = 1.0
"""Processor time, the kernel's included, after which a test is ended that does not hear that its time is up."""


def preload() -> None:
    """Loads pytest and its plugins, but nothing of the project, so that children of this process need not."""
    if JOB["runner"] != "pytest" or os.environ.get("PYTEST_PLUGINS"):
        return
    import pytest

    pytest.main(["--version", "--noconftest", "-c", os.devnull, "--rootdir", os.path.dirname(common.BASE)])
    for name, module in list(sys.modules.items()):  # a project may be a plugin itself
        if str(getattr(module, "__file__", None) or "").startswith(common.BASE + os.sep):
            del sys.modules[name]


class Tests:
    """The tests of the copy, loaded once by `load`; `run` runs some of them in this process, a child."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.items: dict[str, Any] = {}
        self.files: dict[str, str] = {}
        self.broken: list[dict[str, Any]] = []
        self.session: Any = None

    def load(self, args: list[str], ready: Callable[[], None]) -> None:
        """Collects the tests, then calls `ready` while they are loaded. With pytest, the process ends after that: the
        end of a session costs more than all that is wanted here. It goes on if the tests can't be collected.

        `JOB["paths"]`: folders that were found to be in the import path once all tests were loaded; some files can only
        be loaded because others were before."""
        folders = [os.path.join(self.base, path) for path in JOB.get("paths", ())]
        sys.path.extend(path for path in folders if path not in sys.path)
        if JOB["runner"] == "unittest":
            self._load_unittest(args)
            ready()
            return
        import pytest

        extra = ["-p", "no:cacheprovider", "-p", "no:randomly", "-q"]
        if not os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
            extra += ["-n0"] if importlib.util.find_spec("xdist") else []
            extra += ["--no-cov"] if importlib.util.find_spec("pytest_cov") else []
        self._ready = ready
        pytest.main([*args, *extra], plugins=[self])

    def _load_unittest(self, args: list[str]) -> None:
        loader = unittest.TestLoader()
        stack: list[Any] = []
        if args and args[0] != "discover":
            stack = [loader.loadTestsFromNames(args)]
        else:
            given = dict(zip(args[1::2], args[2::2]))
            stack = [loader.discover(given.get("-s", "."), given.get("-p", "test*.py"), given.get("-t"))]
        while stack:
            test = stack.pop()
            if isinstance(test, unittest.TestSuite):
                stack.extend(reversed(list(test)))
            else:
                self.items[test.id()] = test
                module = sys.modules.get(type(test).__module__)
                self.files[test.id()] = os.path.relpath(getattr(module, "__file__", None) or test.id(), self.base)
                if type(test).__name__ == "_FailedTest":
                    self.files[test.id()] = test.id()

    # hooks of pytest: this object is a plugin

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.broken.append(unloaded(report.nodeid, str(report.longrepr)))

    def pytest_runtestloop(self, session: Any) -> None:
        self.session = session
        self.items = {item.nodeid: item for item in session.items}
        self.files = {name: name.partition("::")[0] for name in self.items}
        for item in session.items:
            item.repr_failure = lambda *ignored, **given: "failed"  # nobody reads the long form, which costs most
        self._ready()
        os._exit(0)

    def run(
        self,
        ids: list[str],
        limit_s: float,
        report: Callable[[dict[str, Any]], None],
        around: Any = None,
        stop_at_hang: bool = False,
    ) -> None:
        """Runs tests in order. Each gets `limit_s` of processor time; `around(id)` is entered for each. `stop_at_hang`:
        none after one whose time was up."""
        signal.signal(signal.SIGVTALRM, _time_is_up)
        if JOB["runner"] == "unittest":
            result = _Result(limit_s, report, around, stop_at_hang)
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
            if stop_at_hang and watcher.failure and watcher.failure["type"] == "TimeIsUp":
                return


def _time_is_up(number: int, frame: Any) -> None:
    raise TimeIsUp("ran too long")


def _start_timer(limit_s: float) -> None:
    """Raises TimeIsUp in the test after `limit_s` of processor time; ends the process where that is not heard, because
    the test is inside a function of C that does not end."""
    signal.setitimer(signal.ITIMER_VIRTUAL, limit_s, limit_s / 4)
    signal.setitimer(signal.ITIMER_PROF, 2 * limit_s + DEAF_S if limit_s else 0)


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
        if path.startswith(common.BASE + os.sep):
            frames.append([os.path.relpath(path, common.BASE), traceback.tb_lineno, code.co_name])
        traceback = traceback.tb_next
    if "_FailedTest" in name:
        return unloaded(name, str(error))
    message = clipped(str(error))
    return {
        "id": name,
        "type": type(error).__name__,
        "message": message,
        "frames": frames[-1:] if len(frames) > 40 else frames,
    }


def clipped(text: str) -> str:
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    return text if len(text) <= 400 else text[:150] + " … " + text[-250:]


def unloaded(name: str, text: str) -> dict[str, Any]:
    """What the report of a file says that could not be loaded: pytest's own form, or a traceback of Python's."""
    errors = re.findall(r"^(?:E +)?(\w+(?:Error|Exception)): (.*)$", text, re.MULTILINE)
    frames = []
    for path, line in re.findall(r'^(?:  File ")?([^\s"]+\.py)(?:", line |:)(\d+)', text, re.MULTILINE):
        full = os.path.realpath(os.path.join(common.BASE, path))
        if full.startswith(common.BASE + os.sep):
            frames.append([os.path.relpath(full, common.BASE), int(line), "<module>"])
    kind, message = errors[-1] if errors else ("ImportError", text)
    return {"id": name, "type": kind, "message": clipped(message), "frames": frames}


class _Watcher:
    """Follows one test of pytest from its set-up to its end."""

    def __init__(self, report: Callable[[dict[str, Any]], None]) -> None:
        self.failure: dict[str, Any] | None = None
        self.name, self.skipped, self.started, self.worked = "", False, 0.0, 0.0

    def begin(self, name: str) -> None:
        self.name, self.failure, self.skipped = name, None, False
        self.started, self.worked = time.perf_counter(), time.process_time()

    def end(self) -> dict[str, Any]:
        outcome = "failed" if self.failure else "skipped" if self.skipped else "passed"
        return {
            "end": self.name,
            "outcome": outcome,
            "s": round(time.perf_counter() - self.started, 4),
            "cpu_s": round(time.process_time() - self.worked, 4),
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

    def __init__(
        self, limit_s: float, report: Callable[[dict[str, Any]], None], around: Any, stop_at_hang: bool
    ) -> None:
        super().__init__()
        self.limit_s, self.report, self.around, self.stop_at_hang = limit_s, report, around, stop_at_hang
        self.failure: dict[str, Any] | None = None
        self.outcome, self.started, self.worked = "passed", 0.0, 0.0
        self.context: Any = _nothing()

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self.failure, self.outcome = None, "passed"
        self.started, self.worked = time.perf_counter(), time.process_time()
        self.report({"begin": test.id()})
        self.context = self.around(test.id()) if self.around else _nothing()
        self.context.__enter__()
        _start_timer(self.limit_s)

    def stopTest(self, test: Any) -> None:
        _start_timer(0)
        self.context.__exit__(None, None, None)
        clock_s, cpu_s = round(time.perf_counter() - self.started, 4), round(time.process_time() - self.worked, 4)
        told = {"end": test.id(), "outcome": self.outcome, "s": clock_s, "cpu_s": cpu_s, "failure": self.failure}
        self.report(told)
        super().stopTest(test)
        if self.stop_at_hang and self.failure and self.failure["type"] == "TimeIsUp":
            self.stop()

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
