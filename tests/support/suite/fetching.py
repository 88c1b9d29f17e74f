"""What tests drive that comes from the registries, fetched beside the first tests of a run: editors and real clients.

A test that needs one of them waits for it or, where fetching failed, says why it is skipped; here failures are nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from tests.support.editors.nvim import nvim
from tests.support.editors.vscode_install import built_vsix, installed_editor
from tests.support.service import clients

FETCHED: tuple[Callable[[], object], ...] = (
    nvim,
    installed_editor,
    built_vsix,
    *(lambda client=client: clients.ready(client) for client in (
        clients.CODEX, clients.COPILOT, clients.OPENCODE, clients.ACPX, clients.OPENAI_PYTHON,
        clients.AGENTS_PYTHON, clients.OPENAI_NODE,
    )),
)  # fmt: skip


if __name__ == "__main__":
    for fetch in FETCHED:
        with contextlib.suppress(Exception, pytest.skip.Exception):
            fetch()
