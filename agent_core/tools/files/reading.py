"""The tools `list` and `read`. Both have bounded output, and neither runs anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agent_core.errors import ToolError
from agent_core.tools import schema
from agent_core.tools.background import Job, off_loop
from agent_core.tools.outputs import MAX_SHOWN_CHARACTERS, Outputs, page
from agent_core.tools.port import ToolContext, ToolResult, ToolSpec
from agent_core.tools.workspace.roots import Location, shown_path
from agent_core.tools.workspace.text import split_lines
from agent_core.tools.workspace.walk import walk
from agent_core.tools.workspace.workspace import TextFile, Workspace

MAX_ENTRIES = 1000
DEFAULT_DEPTH = 2
LIST_LIMIT_S = 10.0

MAX_READ_CHARACTERS = 64_000
MAX_LINE_CHARACTERS = 2_000


class ListTool:
    """`list`: one path per line, folders with a trailing slash; remarks in square brackets come last."""

    spec = ToolSpec(
        name="list",
        description="List files and folders. Ignored files are left out.",
        parameters=schema.parameters({}, {"path": schema.STRING, "depth": schema.integer(1, 20)}),
        kind="read",
    )

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        depth: int = arguments.get("depth", DEFAULT_DEPTH)
        if "path" in arguments:
            starts = [self._workspace.resolve(arguments["path"])]
        else:
            starts = [self._workspace.resolve(root) for root in self._workspace.roots]
        for start in starts:
            self._check_folder(start)
        tops = [self._workspace.top_of(start) for start in starts]
        lines, complete = await off_loop(
            lambda job: _listing(job, starts, tops, depth, self._workspace.held.closes), LIST_LIMIT_S
        )
        count = len(lines)
        if not complete:
            lines.append(f"[stopped after {count} entries; give a path or a smaller depth]")
        elif not lines:
            lines.append("[nothing here]")
        return ToolResult(
            output="\n".join(lines), summary=f"{count} entries", data={"entries": count, "complete": complete}
        )

    def _check_folder(self, at: Location) -> None:
        kind = self._workspace.kind(at)
        if kind is None:
            raise ToolError(f"{at.shown}: no such folder", code="not_found")
        if kind != "directory":
            raise ToolError(f"{at.shown} is a file; use read", code="not_a_folder")
        self._workspace.check_open(at)


def _listing(
    job: Job, starts: list[Location], tops: list[str], depth: int, closes: Callable[[str, str, bool], bool]
) -> tuple[list[str], bool]:
    lines: list[str] = []
    for start, top in zip(starts, tops, strict=True):
        for entry in walk(start.root, start.relative, max_depth=depth, tick=job.tick, closes=closes):
            if len(lines) >= MAX_ENTRIES or job.late:
                return lines, False
            path = f"{top}/{entry.relative}" if top else entry.relative
            lines.append(shown_path(path + "/" if entry.is_folder else path))
    return lines, True


class ReadTool:
    """`read`: `<path> lines <a>-<b> of <n>`, then `<number>\\t<text>` each; remarks in square brackets come last."""

    spec = ToolSpec(
        name="read",
        description="Read a text file, or its lines start to end.",
        parameters=schema.parameters({"path": schema.STRING}, {"start": schema.integer(1), "end": schema.integer(1)}),
        kind="read",
    )

    def __init__(self, workspace: Workspace, outputs: Outputs | None = None) -> None:
        self._workspace, self._outputs = workspace, outputs

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        path: str = arguments["path"]
        if self._outputs is not None and (kept := self._outputs.lines(path)) is not None:
            return _of_output(path, kept, *_range(path, len(kept), arguments))
        at = self._workspace.resolve(arguments["path"])
        if self._workspace.kind(at) == "directory":
            raise ToolError(f"{at.shown} is a folder; use list", code="not_a_file")
        file = await self._workspace.read(at)
        lines = split_lines(file.content)
        start, end = _range(at.shown, len(lines), arguments)
        self._workspace.note_seen(file)
        return _shown(file, lines, start, end)


def _range(shown: str, count: int, arguments: Mapping[str, Any]) -> tuple[int, int]:
    """First and last line. Raises ToolError (`bad_range`)."""
    start: int = arguments.get("start", 1)
    end: int = min(arguments.get("end", count), count)
    if start > max(count, 1):
        raise ToolError(f"{shown} has only {count} lines", code="bad_range")
    if end < start and count:
        raise ToolError(f"the range {start}-{arguments.get('end')} is empty", code="bad_range")
    return start, end


def _of_output(name: str, lines: list[str], start: int, end: int) -> ToolResult:
    found = page(lines, start, end, MAX_SHOWN_CHARACTERS)
    remarks = [f"[cut here; read on with start={found.last + 1}]"] if found.last < end else []
    head = f"{name} lines {start}-{found.last} of {len(lines)}"
    data = {"path": name, "start": start, "end": found.last, "lines": len(lines)}
    return ToolResult(
        output="\n".join([head, *found.body, *remarks]), summary=f"{name}:{start}-{found.last}", data=data
    )


def _shown(file: TextFile, lines: list[str], start: int, end: int) -> ToolResult:
    body: list[str] = []
    room = MAX_READ_CHARACTERS
    last = start - 1
    for number in range(start, end + 1):
        line = lines[number - 1]
        if len(line) > MAX_LINE_CHARACTERS:
            line = f"{line[:MAX_LINE_CHARACTERS]} [+{len(line) - MAX_LINE_CHARACTERS} characters]"
        room -= len(line) + 8
        if room < 0 and body:
            break
        body.append(f"{number}\t{line}")
        last = number
    first = start if lines else 0
    remarks = _remarks(file)
    if last < end:
        remarks.append(f"[cut here; read on with start={last + 1}]")
    header = f"{file.at.shown} lines {first}-{last} of {len(lines)}"
    whole = first in (0, 1) and last == len(lines)
    return ToolResult(
        output="\n".join([header, *body, *remarks]),
        summary=file.at.shown if whole else f"{file.at.shown}:{first}-{last}",
        data={"path": file.at.shown, "start": first, "end": last, "lines": len(lines), "encoding": file.encoding.label},
    )


def _remarks(file: TextFile) -> list[str]:
    remarks: list[str] = []
    if file.version is not None:
        state = "unsaved changes" if file.unsaved else "saved"
        remarks.append(f"[from the editor's buffer, version {file.version}, {state}]")
    if file.encoding.label != "utf-8":
        remarks.append(f"[{file.encoding.label}; edits keep it]")
    if file.content and file.content[-1] not in "\r\n":
        remarks.append("[no newline at the end of the file]")
    return remarks
