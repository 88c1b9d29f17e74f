"""A client on each transport, an editor in each encoding, and a service whose answers are in the task."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from tests.support.lsp.client import ROOT, Json, LspClient, connected_tcp, connected_ws, stdio
from tests.support.lsp.editor import Editor
from tests.support.lsp.puppet import Puppet, puppet, puppet_env
from tests.support.system.cli import environment

CODE = '"""Sums."""\n\n\ndef add(a, b):\n    return a - b  # héllo 😀\n\n\ndef twice(a):\n    return add(a, a)\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "sums.py").write_text(CODE, encoding="utf-8")
    (folder / "other.py").write_text("x = 1\n")
    return folder


@pytest.fixture
async def model() -> AsyncIterator[Puppet]:
    async with puppet() as found:
        yield found


@contextmanager
def served(kind: str, home: Path) -> Iterator[Json]:
    """A server process for many clients: what its ready file says, and `home`. It must end well."""
    ready = home / "ready.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "agent_core", "lsp", kind, "127.0.0.1:0", "--ready-file", str(ready)],
        env=environment(home),
        cwd=ROOT,
        stderr=subprocess.PIPE,
    )
    try:
        give_up_s = time.monotonic() + 60
        while not ready.exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < give_up_s
            time.sleep(0.01)
        yield {**json.loads(ready.read_text()), "home": home}
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=10)
    assert process.returncode == 0
    assert b"Traceback" not in errors, errors.decode("utf-8", "replace")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Json]:
    """A server process on TCP for the tests of a module."""
    with served("--tcp", tmp_path_factory.mktemp("home")) as facts:
        yield facts


@pytest.fixture(scope="module")
def shared_ws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Json]:
    """The same on WebSocket."""
    with served("--ws", tmp_path_factory.mktemp("home")) as facts:
        yield facts


Connect = Callable[[str], AbstractAsyncContextManager[LspClient]]


@pytest.fixture
def connect(tmp_path: Path, model: Puppet, request: pytest.FixtureRequest) -> Connect:
    """A client on `stdio`, `tcp` or `ws`; only on stdio it has a process of its own."""

    @asynccontextmanager
    async def connected_by(kind: str) -> AsyncIterator[LspClient]:
        if kind == "stdio":
            async with stdio(puppet_env(tmp_path, model)) as client:
                yield with_answers(client)
        elif kind == "tcp":
            facts = request.getfixturevalue("shared")
            async with connected_tcp(int(facts["url"].rsplit(":", 1)[1])) as client:
                yield with_answers(client)
        else:
            facts = request.getfixturevalue("shared_ws")
            async with connected_ws(facts["url"], facts["token"]) as client:
                yield with_answers(client)

    return connected_by


@pytest.fixture
async def raw(shared: Json) -> AsyncIterator[LspClient]:
    """A client of the shared server, not initialized."""
    async with connected_tcp(int(shared["url"].rsplit(":", 1)[1])) as client:
        yield with_answers(client)


@pytest.fixture
def options(model: Puppet) -> Json:
    """initializationOptions that name the puppet; nothing asks."""
    return {"approve": "auto", "baseUrl": model.base_url, "model": "puppet"}


@pytest.fixture
async def client(raw: LspClient, root: Path, options: Json) -> LspClient:
    """Initialized in utf-16, as an editor that can do everything."""
    await raw.initialize(root, options=options)
    return raw


@pytest.fixture
def editor(client: LspClient) -> Editor:
    return Editor(client).attach()


def with_answers(client: LspClient) -> LspClient:
    """Answers what every editor answers."""

    async def nothing(params: object) -> None:
        return None

    async def settings(params: dict[str, list[object]]) -> list[None]:
        return [None for _ in params["items"]]

    async def shown(params: object) -> dict[str, bool]:
        return {"success": True}

    client.handlers |= {
        "window/workDoneProgress/create": nothing,
        "workspace/configuration": settings,
        "workspace/codeLens/refresh": nothing,
        "window/showDocument": shown,
    }
    return client
