"""What a turn is told besides its task: the place in the editor that it is about. Every piece is capped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agent_core.tools.workspace.secret_names import SecretRules
from lsp_server.documents.documents import Document, Documents, Position, path_of
from lsp_server.protocol.methods import TurnStart

MAX_SELECTION = 8_000
MAX_MESSAGE = 2_000
_SEVERITY = {1: "error", 2: "warning", 3: "information", 4: "hint"}


def compose(asked: TurnStart, documents: Documents, pseudo_path: str | None, roots: Iterable[Path]) -> str:
    """The task with its context. `pseudo_path` names an open document that is no file. Files that may hold secrets are
    left out."""
    parts = [asked.task]
    if asked.text_document is not None:
        document = documents.get(asked.text_document.uri)
        path = pseudo_path or path_of(asked.text_document.uri)
        shown = shown_path(path, roots) if path is not None else None
        if shown is not None and not SecretRules().match(shown):
            parts.append(_place(asked, document, shown))
            if asked.diagnostic is not None:
                parts.append(_diagnostic(asked.diagnostic, shown))
    return "\n\n".join(parts)


def shown_path(path: str, roots: Iterable[Path]) -> str | None:
    """As the tools name it: relative to the first folder, whole in another one; None outside of them."""
    for index, root in enumerate(roots):
        if path.startswith(f"{root}/"):
            return path[len(str(root)) + 1 :] if index == 0 else path
    return None


def _place(asked: TurnStart, document: Document | None, shown: str) -> str:
    where = f"This is about `{shown}`"
    span = asked.range
    if span is None:
        return f"{where}."
    last = max(span.start.line, span.end.line - (span.end.character == 0 and span.end.line > span.start.line))
    lines = f"line {span.start.line + 1}" if last == span.start.line else f"lines {span.start.line + 1} to {last + 1}"
    if document is None or span.start == span.end:
        return f"{where}, {lines}."
    start, end = (Position(point.line, point.character) for point in (span.start, span.end))
    text = document.text_between(start, end)
    if not text.strip():
        return f"{where}, {lines}."
    cut = f"\n… ({len(text)} characters)" if len(text) > MAX_SELECTION else ""
    return f"{where}, {lines}, where this is selected:\n```\n{text[:MAX_SELECTION]}{cut}\n```"


def _diagnostic(given: Mapping[str, Any], shown: str) -> str:
    severity = _SEVERITY.get(given.get("severity") or 0, "diagnostic")
    line = given.get("range", {}).get("start", {}).get("line") if isinstance(given.get("range"), Mapping) else None
    place = f"{shown}:{line + 1}" if isinstance(line, int) else shown
    code = given.get("code")
    code = code.get("value") if isinstance(code, Mapping) else code
    source = " ".join(str(part) for part in (given.get("source"), code) if part is not None)
    message = str(given.get("message", ""))[:MAX_MESSAGE]
    return f"The editor shows there: {place}: {severity}{f' [{source}]' if source else ''}: {message}"
