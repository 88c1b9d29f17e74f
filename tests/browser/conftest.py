"""One code-server with the built extension for all tests of it: starting it is the slow part."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.vscode import CodeServer, code_server
from tests.support.vscode_install import built_vsix, editor


@pytest.fixture(scope="session")
def vscode(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeServer]:
    found = editor()
    with code_server(found, built_vsix(), tmp_path_factory.mktemp("vscode")) as server:
        yield server
