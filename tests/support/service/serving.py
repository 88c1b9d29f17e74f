"""`loopline serve` as a real process for end-to-end tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from agent_core.ready_file import wait_ready_blocking
from tests.support.system.cli import started

KEY = "key-of-the-tests"
START_LIMIT_S = 60.0


class Serving(msgspec.Struct):
    """`url` is `http://host:port`."""

    url: str
    pid: int


@contextmanager
def serving(folder: Path, env: Mapping[str, str], *options: str) -> Iterator[Serving]:
    """Start it, wait until it listens, end it with SIGTERM; its exit code must be 0."""
    ready = folder / "ready.json"
    process = started("serve", "--ready-file", str(ready), *options, env={**env, "LOOPLINE_API_KEY": KEY})
    try:
        facts = wait_ready_blocking(lambda: process.poll() is not None, ready, START_LIMIT_S)
        assert facts is not None, f"it does not listen; exit code {process.poll()}"
        yield Serving(**json.loads(facts))
    finally:
        process.terminate()
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 0, stderr
