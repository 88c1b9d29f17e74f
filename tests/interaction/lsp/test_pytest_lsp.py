"""A second opinion: pytest-lsp drives the server with what real editors announce, and complains (a warning, so an error
here) about whatever goes beyond that. It is built on pygls, so it judges less than the client of our own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from lsp_server.documents.documents import path_of
from tests.support.lsp.client import POLL_S, WAIT_S
from tests.support.lsp.puppet import Puppet, puppet_env, steps

EDITORS = ["neovim@v0.11", "neovim@v0.6", "visual-studio-code@v1.65.2", "emacs@v29"]


@pytest.fixture(params=EDITORS)
async def editor(
    request: pytest.FixtureRequest, tmp_path: Path, root: Path, model: Puppet
) -> AsyncIterator[LanguageClient]:
    """The client as one of the editors, initialized; the server must end well."""
    command = [sys.executable, "-m", "agent_core", "lsp", "--stdio"]
    config = ClientServerConfig(
        server_command=command, server_env=dict(puppet_env(tmp_path, model, LOOPLINE_APPROVE="auto"))
    )
    client = await config.start()
    assert isinstance(client, LanguageClient)
    client.feature(lsp.CLIENT_REGISTER_CAPABILITY)(registered)  # it knows no answer to that by itself
    client.set_configuration({"approve": "auto", "codeLens": False}, section="loopline")
    await client.initialize_session(
        lsp.InitializeParams(
            capabilities=client_capabilities(request.param),
            workspace_folders=[lsp.WorkspaceFolder(root.as_uri(), root.name)],
            root_uri=root.as_uri(),
        )
    )
    yield client
    await client.shutdown_session()
    assert client._server is not None and client._server.returncode == 0
    await client.stop()  # type: ignore[no-untyped-call]


def registered(params: lsp.RegistrationParams) -> None:
    assert [each.method for each in params.registrations] == [lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES]


async def test_a_turn_with_what_editors_announce(editor: LanguageClient, root: Path, model: Puppet) -> None:
    uri = (root / "sums.py").as_uri()
    text = (root / "sums.py").read_text()
    editor.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "python", 1, text)))
    span = lsp.Range(lsp.Position(3, 0), lsp.Position(5, 0))
    problem = lsp.Diagnostic(span, "it subtracts", severity=lsp.DiagnosticSeverity.Error, source="pyflakes")
    context = lsp.CodeActionContext([problem])
    document = lsp.TextDocumentIdentifier(uri)
    actions = await editor.text_document_code_action_async(lsp.CodeActionParams(document, span, context))
    assert actions is not None and actions[0].title == "Fix with Loopline"
    action = actions[0]
    if isinstance(action, lsp.CodeAction):  # lsprotocol reads one that comes with its command as a command
        action = await editor.code_action_resolve_async(action)
        assert action.command is not None and action.command.command == "loopline.turn.start"
    else:
        assert "'command': 'loopline.turn.start'" in action.command

    edit = {"call": "edit", "args": {"path": "other.py", "old": "x = 1", "new": "x = 2"}}
    task = steps({"call": "read", "args": {"path": "sums.py"}}, edit, {"text": "It is two now."})
    params = lsp.ExecuteCommandParams("loopline.turn.start", [{"task": task}])
    started: Any = await editor.workspace_execute_command_async(params)
    assert await progress_of(editor, f"loopline-{started['turnId']}") == ["begin", "end"]

    assert (root / "other.py").read_text() == "x = 2\n"
    assert "return a - b" in model.outputs[0]
    window = editor.capabilities.window if editor.capabilities is not None else None
    shows = bool(window and window.show_document and window.show_document.support)
    await until(
        lambda: editor.shown_documents if shows else [one for one in editor.messages if "two now" in one.message]
    )
    if shows:
        assert "It is two now." in Path(path_of(editor.shown_documents[0].uri) or "").read_text()
    else:
        assert editor.shown_documents == []


async def progress_of(editor: LanguageClient, token: str) -> list[str]:
    """The first and the last kind of report under a token, once it ended."""

    def ended() -> list[Any]:
        found: list[Any] = dict(editor.progress_reports).get(token, [])
        return found if found and found[-1].kind == "end" else []

    found = await until(ended)
    return [found[0].kind, found[-1].kind]


async def until(check: Callable[[], list[Any]]) -> list[Any]:
    """Wait until `check` finds something."""
    async with asyncio.timeout(WAIT_S):
        while not (found := check()):  # noqa: ASYNC110 - handlers of the client fill what is looked at
            await asyncio.sleep(POLL_S)
    return found
