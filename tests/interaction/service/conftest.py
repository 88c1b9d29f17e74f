"""A service shared by the tests of this folder that need no settings of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.service.running import Running, running_service


@pytest.fixture(scope="session")
def service() -> Iterator[Running]:
    with running_service() as running:
        yield running
