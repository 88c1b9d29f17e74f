"""A client on each transport, an editor in each encoding, and a service whose answers are in the task."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from tests.support.lsp_client import LspClient, listening, stdio
from tests.support.lsp_editor import Editor
from tests.support.lsp_puppet import Puppet, puppet, puppet_env

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


Connect = Callable[[str], AbstractAsyncContextManager[LspClient]]


@pytest.fixture
def connect(tmp_path: Path, model: Puppet) -> Connect:
    """A client on `stdio`, `tcp` or `ws`, of a server that talks to the puppet."""

    @asynccontextmanager
    async def connected(kind: str) -> AsyncIterator[LspClient]:
        env = puppet_env(tmp_path, model)
        if kind == "stdio":
            async with stdio(env) as client:
                yield with_answers(client)
        else:
            async with listening(f"--{kind}", env, tmp_path) as server, server.client() as client:
                yield with_answers(client)

    return connected


@pytest.fixture
async def client(connect: Connect, root: Path) -> AsyncIterator[LspClient]:
    """Initialized on stdio, in utf-16, with an editor that can do everything; `approve` is `auto`."""
    async with connect("stdio") as found:
        await found.initialize(root, options={"approve": "auto"})
        yield found


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
