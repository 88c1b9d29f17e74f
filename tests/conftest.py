"""What holds for all tests: where they keep things, what they leave behind, and which stay together."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import isolation, leftovers, parts

# A measured speed fails no test: how long an example may take is bounded by the test's own time limit.
settings.register_profile("loopline", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loopline")

SLOW_FIRST = ("browser", "e2e", "interaction", "snapshot", "fuzz", "property")
"""Folders in the order they are begun: a long file begun last would be waited for."""
RUN = pytest.StashKey[leftovers.Run]()
_numbers = itertools.count()


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


def pytest_unconfigure(config: pytest.Config) -> None:
    if (run := config.stash.get(RUN, None)) is not None:
        run.end()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Folders with slow tests first, and the tests of a file on one worker, where they share what is slow to start."""
    order = {name: place for place, name in enumerate(SLOW_FIRST)}
    top = Path(__file__).parent
    for item in items:
        item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(top))))
    items.sort(key=lambda item: order.get(item.path.relative_to(top).parts[0], len(order)))


@pytest.fixture(autouse=True)
def _own_home() -> Iterator[None]:
    """Each test has homes of its own; what is shared by a module or a session has those of the worker."""
    with isolation.own_home(Path(os.environ["TMPDIR"]).parent / f"t{next(_numbers)}"):
        yield
