"""How long pages may take, and one code-server with the built extension for all tests of it: starting it is slow."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.support.editors.vscode import WAIT_MS, CodeServer, code_server
from tests.support.editors.vscode_install import built_vsix, installed_editor
from tests.support.editors.vscode_model import StreamingPuppet, streaming_puppet
from tests.support.editors.vscode_scenes import LOOPLINE
from tests.support.web.browser import chromium


@pytest.fixture(scope="session", autouse=True)
def patience() -> None:
    expect.set_options(timeout=WAIT_MS)


@pytest.fixture(scope="session")
def vscode(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeServer]:
    found = installed_editor()
    with code_server(found, built_vsix(), tmp_path_factory.mktemp("vscode")) as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def model() -> AsyncIterator[StreamingPuppet]:
    async with streaming_puppet() as found:
        yield found


@pytest.fixture
def nothing_asked(vscode: CodeServer, model: StreamingPuppet) -> None:
    """The server under test with `model`, and no approvals."""
    vscode.settings({"loopline.server.path": str(LOOPLINE)}, baseUrl=model.base_url, model="puppet", approve="auto")
