"""The tool `search`: lines that match a regular expression. Bounded in hits, bytes and time; off the event loop."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agent_core.errors import ToolError
from agent_core.tools import schema
from agent_core.tools.commands.processes import Processes
from agent_core.tools.port import ToolContext, ToolResult, ToolSpec
from agent_core.tools.search.engine import FIRST_LOOK_S, SearchEngine, find_ripgrep
from agent_core.tools.search.pattern import plain_text, required_text
from agent_core.tools.search.scan import Found, Limits, Query, Start, expand_braces, glob_spec
from agent_core.tools.workspace.roots import Location, shown_path
from agent_core.tools.workspace.workspace import Workspace

SEARCH_LIMIT_S = 10.0


class SearchTool:
    """`search`: `<path>:<line>:<text>` per hit; the last line starts with the count."""

    spec = ToolSpec(
        name="search",
        description="Find lines that match a regular expression (Python syntax). glob limits the files, e.g. *.py.",
        parameters=schema.parameters({"pattern": schema.STRING}, {"path": schema.STRING, "glob": schema.STRING}),
        kind="read",
    )

    def __init__(
        self,
        workspace: Workspace,
        environment: Mapping[str, str],
        processes: Processes,
        *,
        limit_s: float = SEARCH_LIMIT_S,
        limits: Limits | None = None,
        use_ripgrep: bool = True,
        first_look_s: float = FIRST_LOOK_S,
    ) -> None:
        self._workspace = workspace
        ripgrep = find_ripgrep(environment, workspace.roots) if use_ripgrep else None
        bounds = limits or Limits(file_bytes=workspace.max_text_bytes)
        self._engine = SearchEngine(workspace, environment, processes, bounds, limit_s, ripgrep, first_look_s)

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        query, remark = _query(arguments["pattern"], arguments.get("glob"))
        given = [arguments["path"]] if "path" in arguments else list(self._workspace.roots)
        starts = [self._start(self._workspace.resolve(path)) for path in given]
        found = await self._engine.find(query, starts)
        if not found.hits and not found.stopped and not query.literal:
            again = await self._engine.find(_plain(query.pattern, query.globs), starts)
            if again.hits:
                found, remark = again, "[as a regular expression it matches nothing; these have it as plain text]"
        return _result(found, remark)

    def _start(self, at: Location) -> Start:
        kind = self._workspace.kind(at)
        if kind is None:
            raise ToolError(f"{at.shown}: no such file or folder", code="not_found")
        if kind not in ("file", "directory"):
            raise ToolError(f"{at.shown} is {kind}", code="not_a_file")
        self._workspace.check_open(at)
        return Start(at.root, at.relative, self._workspace.top_of(at), kind == "file")


def _query(pattern: str, glob: str | None) -> tuple[Query, str]:
    """The query, and a remark if the pattern had to be taken as plain text."""
    globs = expand_braces(glob) if glob else ()
    glob_spec(globs)
    if not pattern:
        raise ToolError("the pattern is empty", code="bad_arguments")
    if "\n" in pattern or "\r" in pattern:
        raise ToolError("search works line by line; give one line of the text", code="bad_arguments")
    plain = plain_text(pattern)
    if plain is not None:
        return _plain(plain, globs), ""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return _plain(pattern, globs), f"[not a regular expression ({error}); searched as plain text]"
    return Query(pattern, False, globs, required_text(pattern)), ""


def _plain(pattern: str, globs: tuple[str, ...]) -> Query:
    return Query(pattern, True, globs, pattern)


def _result(found: Found, remark: str) -> ToolResult:
    lines = [f"{shown_path(hit.path)}:{hit.line}:{hit.text}" for hit in found.hits]
    if remark:
        lines.append(remark)
    if found.secret_files:
        lines.append(f"[secret files left out: {found.secret_files}]")
    count = f"{_plural(len(found.hits), 'hit')} in {_plural(found.files, 'file')}" if found.hits else "0 hits"
    more = f" (stopped: {found.stopped}; narrow the pattern, path or glob)" if found.stopped else ""
    lines.append(count + more)
    return ToolResult(
        output="\n".join(lines),
        summary=count,
        data={"hits": len(found.hits), "files": found.files, "complete": not found.stopped},
    )


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
