"""What the editor's language tools say, for the agent's `diagnostics` tool: forwarded by our plugins, and seen in the
context of code actions. Our own findings are never among it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_core.tools.editor.diagnostics import Diagnostic, Severity
from lsp_server.documents.documents import Document, Position, path_of
from lsp_server.editor import Editor
from lsp_server.features.findings import SOURCE
from lsp_server.protocol.methods import Diagnostics
from lsp_server.rpc.routes import Routes

MAX_FILES = 2_000
_SEVERITY: dict[int, Severity] = {1: "error", 2: "warning", 3: "information", 4: "hint"}


def register(editor: Editor, routes: Routes) -> None:
    said: dict[str, tuple[Diagnostic, ...]] = {}

    async def forwarded(told: Diagnostics) -> None:
        path = path_of(told.uri)
        if path is None:
            return
        if len(said) >= MAX_FILES:
            said.pop(next(iter(said)))
        document = editor.documents.get(told.uri)
        found = (_diagnostic(path, document, one) for one in told.diagnostics)
        said[path] = tuple(one for one in found if one is not None and one.source != SOURCE)

    def known(path: str | None) -> Sequence[Diagnostic]:
        return [one for file, found in said.items() for one in found if path is None or file == path]

    def closed(document: Document) -> None:
        said.pop(path_of(document.uri) or "", None)

    routes.on_request("loopline/diagnostics", Diagnostics, forwarded)
    editor.bus.closed.add(closed)
    editor.front_end.find = known


def _diagnostic(path: str, document: Document | None, given: dict[str, Any]) -> Diagnostic | None:
    """Columns in characters; of a document that is not open, as the client counts."""
    span = given.get("range")
    start = span.get("start") if isinstance(span, dict) else None
    if not isinstance(start, dict):
        return None
    line, column = start.get("line"), start.get("character")
    if not isinstance(line, int) or not isinstance(column, int):
        return None
    if document is not None:
        place = document.place(Position(line, column))
        line, column = place.line, place.column
    severity = given.get("severity")
    return Diagnostic(
        path=path,
        line=line + 1,
        column=column + 1,
        severity=_SEVERITY.get(severity if isinstance(severity, int) else 1, "error"),
        message=str(given.get("message", "")),
        source=str(given.get("source") or ""),
    )
