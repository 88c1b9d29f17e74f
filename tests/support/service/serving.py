"""`loopline serve` as a real process for end-to-end tests."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.support.system.cli import started

KEY = "key-of-the-tests"


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
        give_up = time.monotonic() + 60
        while not ready.exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < give_up
            time.sleep(0.01)
        yield Serving(**json.loads(ready.read_text()))
    finally:
        process.terminate()
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 0, stderr
