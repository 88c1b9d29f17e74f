"""What holds for all tests: where they keep things, what they leave behind, and which stay together."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import coverage
import pytest
from hypothesis import HealthCheck, settings

from tests.support.suite import coverage_floor, isolation, leftovers, parts

if TYPE_CHECKING:
    from tests.support.system.postgres import PostgresServer

# A measured speed fails no test: how long an example may take is bounded by the test's own time limit.
settings.register_profile("loopline", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loopline")

SLOW_FIRST = (
    "interaction/engines", "interaction/lsp", "interaction/agent", "browser", "interaction/clients", "interaction",
    "e2e", "snapshot", "fuzz", "property",
)  # fmt: skip
"""Folders in the order they are begun: a long file begun last would be waited for, and one that needs what is fetched
beside the tests, if it were begun first."""
ONE_EDITOR = "browser/test_vscode"
"""Files whose paths begin so share one code-server, so one process runs them all."""
COVERAGE = pytest.StashKey[coverage.Coverage]()
RUN = pytest.StashKey[leftovers.Run]()
FETCHING = pytest.StashKey[subprocess.Popen[bytes]]()
_numbers = itertools.count()
_began = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--order-seed", type=int, default=None, help="run files, and the tests of each, in another order")
    parser.addoption("--fetch", action="store_true", help="fetch editors and clients beside the first tests")
    parser.addoption("--measure", action="store_true", help="keep which lines and branches the tests' processes reach")
    parser.addoption("--at-most-s", type=float, default=None, help="begin no test after so many seconds")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(parts, "parts")
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        base = Path(tempfile.gettempdir())
        leftovers.end_abandoned(base)
        config.stash[RUN] = leftovers.Run(base)
        # where pytest keeps the folders of tests, as without us: looked at after a failure
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(base))
    isolation.isolate(Path(os.environ[leftovers.MARK]) / (worker or "main"))
    if worker is None and config.getoption("fetch"):
        command = [sys.executable, "-m", "tests.support.suite.fetching"]
        config.stash[FETCHING] = subprocess.Popen(
            command, cwd=Path(__file__).parents[1], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
    if config.getoption("measure"):
        config.stash[COVERAGE] = coverage_floor.begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    if (measuring := config.stash.get(COVERAGE, None)) is not None:
        measuring.stop()
        measuring.save()
    if (process := config.stash.get(FETCHING, None)) is not None:
        process.terminate()
        process.wait()
    if (run := config.stash.get(RUN, None)) is not None:
        run.end()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Folders with slow tests first, and the tests of a file on one worker, where they share what is slow to start."""
    if (seed := config.getoption("order_seed")) is not None:
        shuffle(items, seed)
    top = Path(__file__).parent
    for item in items:
        path = str(item.path.relative_to(top))
        item.add_marker(pytest.mark.xdist_group(ONE_EDITOR if path.startswith(ONE_EDITOR) else path))
    items.sort(key=lambda item: place_of(item.path.relative_to(top)))


def place_of(path: Path) -> int:
    """When a file is begun: by the most exact folder of `SLOW_FIRST` that it is in."""
    folders = [folder.as_posix() for folder in path.parents]
    return next((SLOW_FIRST.index(folder) for folder in folders if folder in SLOW_FIRST), len(SLOW_FIRST))


def shuffle(items: list[pytest.Item], seed: int) -> None:
    """Another order of the files, and of the tests in each; equal on all workers."""
    drawn = random.Random(seed)
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    groups = list(files.values())
    drawn.shuffle(groups)
    for group in groups:
        drawn.shuffle(group)
    items[:] = itertools.chain.from_iterable(groups)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """With `--at-most-s` the run ends between two tests once the time is over, and says how far it came."""
    limit_s = item.config.getoption("at_most_s")
    if limit_s is not None and time.monotonic() - _began > limit_s:
        left = len(item.session.items) - item.session.items.index(item)
        item.session.shouldstop = f"{limit_s:.0f} s are over, {left} tests are left to `make test`"


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("at_most_s") is not None and session.shouldstop and not session.testsfailed:
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture(autouse=True)
def _own_home() -> Iterator[None]:
    """Each test has homes of its own; what is shared by a module or a session has those of the worker."""
    with isolation.own_home(Path(os.environ["TMPDIR"]).parent / f"t{next(_numbers)}"):
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One for all tests of a process; each takes a `database` of its own. Who stops it starts it again."""
    from tests.support.system.postgres import running_postgres

    with running_postgres() as server:
        yield server
