"""The tool `diagnostics`: what the host's language tools say of files. Without such a host it says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from agent_core.tools import schema
from agent_core.tools.port import ToolContext, ToolResult, ToolSpec
from agent_core.tools.workspace.roots import shown_path
from agent_core.tools.workspace.workspace import Workspace

MAX_SHOWN = 200
Severity = Literal["error", "warning", "information", "hint"]


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """`path` is absolute; `line` and `column` count from 1."""

    path: str
    line: int
    column: int
    severity: Severity
    message: str
    source: str = ""


class DiagnosticSource(Protocol):
    async def diagnostics(self, path: str | None) -> Sequence[Diagnostic]:
        """Of one file (absolute path), or of all (None). Bounded by the host; ToolError if the host is lost."""


class DiagnosticsTool:
    """`diagnostics`: `<path>:<line>:<column>: <severity>: <message>` each; the last line starts with the count."""

    spec = ToolSpec(
        name="diagnostics",
        description="Errors and warnings that the editor shows.",
        parameters=schema.parameters({}, {"path": schema.STRING}),
        kind="read",
    )

    def __init__(self, workspace: Workspace, source: DiagnosticSource | None) -> None:
        self._workspace = workspace
        self._source = source

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        path = str(self._workspace.resolve(arguments["path"]).path) if "path" in arguments else None
        if self._source is None:
            return ToolResult(output="no diagnostics from this host; run checks instead", summary="no diagnostics")
        found = await self._source.diagnostics(path)
        lines = [self._line(item) for item in found[:MAX_SHOWN]]
        more = f" (the first {MAX_SHOWN} are shown)" if len(found) > MAX_SHOWN else ""
        lines.append(f"{len(found)} diagnostics{more}")
        errors = sum(item.severity == "error" for item in found)
        return ToolResult(
            output="\n".join(lines),
            summary=f"{len(found)} diagnostics, {errors} errors",
            data={"diagnostics": len(found), "errors": errors},
        )

    def _line(self, item: Diagnostic) -> str:
        root = str(self._workspace.root) + "/"
        path = shown_path(item.path.removeprefix(root))
        source = f" [{item.source}]" if item.source else ""
        message = " ".join(item.message.split())[:500]
        return f"{path}:{item.line}:{item.column}: {item.severity}: {message}{source}"
