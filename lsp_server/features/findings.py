"""What the agent's own checks found, as diagnostics of source `Loopline`, and lenses over the failing tests.

They are replaced with each run of the checks, and never handed to the agent as the editor's findings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from lsprotocol import types as lsp

from agent_core.hosting.port import SessionHost
from agent_core.turns import events as up
from lsp_server.documents.documents import uri_of
from lsp_server.editor import Editor
from lsp_server.rpc.routes import Routes

SOURCE = "Loopline"
MAX_SHOWN = 200
_LAST_LINE = 1 << 30


class Finding(msgspec.Struct, frozen=True):
    """A failing test: its id, the file and line (from 0) where it failed, and what it said."""

    test: str
    uri: str
    line: int
    message: str


def register(editor: Editor, routes: Routes) -> None:
    found: list[Finding] = []

    def updated(session: str, event: up.TurnEvent) -> None:
        if isinstance(event, up.ToolEnded) and event.name == "checks" and event.status == "ok":
            host = editor.desk.sessions.get(session)
            if host is not None and host.view().place == "live":
                replace(_findings(host, event.data.get("failures") or ()))

    def replace(new: list[Finding]) -> None:
        uris = dict.fromkeys([*(one.uri for one in new), *(one.uri for one in found)])
        found[:] = new
        for uri in uris:
            document = editor.documents.get(uri)
            shown = [_diagnostic(one) for one in found if one.uri == uri]
            editor.client.diagnostics(uri, document.version if document is not None else None, shown)
        if editor.settings.code_lens:
            editor.spawn(editor.client.refresh_lenses(), "refresh lenses")

    async def lenses(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        document = editor.documents.get(params.text_document.uri)
        if not editor.settings.code_lens or document is None or document.path is None:
            return []
        shown = []
        for one in found:
            file, _, name = one.test.partition("::")
            name = name.rpartition("::")[2].partition("[")[0]
            if not name or not document.path.endswith(f"/{file}"):
                continue
            pattern = re.compile(rf"\s*(?:async\s+)?def\s+{re.escape(name)}\s*\(")
            line = next((at for at, text in enumerate(document.lines) if pattern.match(text)), None)
            if line is not None:
                shown.append(lsp.CodeLens(_line(line), data={"test": one.test, "uri": document.uri, "line": line}))
        return shown

    async def resolve(lens: lsp.CodeLens) -> lsp.CodeLens:
        data: Any = lens.data
        if isinstance(data, dict) and isinstance(data.get("test"), str):
            argument = {"task": fix_test(data["test"]), "textDocument": {"uri": data.get("uri")}}
            lens.command = lsp.Command("Fix with Loopline", "loopline.turn.start", arguments=[argument])
        return lens

    routes.feature(lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensOptions(resolve_provider=True))(lenses)
    routes.feature(lsp.CODE_LENS_RESOLVE)(resolve)
    editor.bus.updated.add(updated)


def fix_test(test: str) -> str:
    """The task for one failing test."""
    return f"Make the failing test {test} pass"


def _findings(host: SessionHost, failures: Sequence[Any]) -> list[Finding]:
    found = []
    for failure in failures[:MAX_SHOWN]:
        file = failure.get("file")
        if not isinstance(file, str):
            continue
        path = host.place_of(file)
        if path is None:
            continue
        line = max(0, (failure.get("line") or 1) - 1)
        found.append(Finding(str(failure.get("id")), uri_of(str(path)), line, str(failure.get("message"))))
    return found


def _diagnostic(finding: Finding) -> lsp.Diagnostic:
    return lsp.Diagnostic(
        range=_line(finding.line),
        message=f"{finding.test} fails: {finding.message}"[:1_000],
        severity=lsp.DiagnosticSeverity.Error,
        source=SOURCE,
        code=finding.test[:200],
    )


def _line(line: int) -> lsp.Range:
    return lsp.Range(lsp.Position(line, 0), lsp.Position(line, _LAST_LINE))
