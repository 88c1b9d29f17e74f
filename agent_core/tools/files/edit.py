"""The tool `edit`: one exact, unique replacement in one file, or a new file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_core.errors import ToolError
from agent_core.tools import schema
from agent_core.tools.files.near_miss import explain_miss
from agent_core.tools.port import ToolContext, ToolResult, ToolSpec
from agent_core.tools.workspace.diffs import Diff, diff
from agent_core.tools.workspace.roots import Location
from agent_core.tools.workspace.text import View, split_lines, to_newlines
from agent_core.tools.workspace.transaction import FileChange, apply
from agent_core.tools.workspace.workspace import TextFile, Workspace

MAX_SHOWN_CHARACTERS = 16_000


class EditTool:
    """`edit`: `edited <path> (+a -b)` and the hunk. A failure says why, with line numbers, and writes nothing."""

    spec = ToolSpec(
        name="edit",
        description=(
            "Replace the one place where old stands in the file by new. Give old exactly, with enough lines to be "
            "unique. An empty old makes a new file."
        ),
        parameters=schema.parameters({"path": schema.STRING, "old": schema.STRING, "new": schema.STRING}),
        kind="edit",
    )

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        at = self._workspace.resolve(arguments["path"])
        old, new = arguments["old"], arguments["new"]
        if not old and self._workspace.kind(at) is None:
            return await self._create(at, new)
        file = await self._workspace.read(at)
        check_base(self._workspace, file)
        if not old and file.content:
            raise ToolError(f"{at.shown} exists and is not empty; say in old what to replace", code="exists")
        content = replaced(file, to_newlines(old), to_newlines(new))
        await apply(self._workspace, [FileChange(at=at, base=file, content=content)])
        return edited("edited", at, diff(file.content, content))

    async def _create(self, at: Location, content: str) -> ToolResult:
        await apply(self._workspace, [FileChange(at=at, base=None, content=content)])
        return edited("created", at, diff("", content))


def replaced(file: TextFile, old: str, new: str) -> str:
    """The file's text with its one `old` replaced. Raises ToolError not_found, ambiguous or no_change."""
    if old == new:
        raise ToolError("old and new are the same text; nothing to do", code="no_change")
    view = View(file.content)
    start = view.flat.find(old)
    if start < 0:
        raise ToolError(f"not found in {file.at.shown}: {explain_miss(view.flat, old, new)}", code="not_found")
    # Overlapping places count too: which one is meant would be a guess.
    places = [start]
    while (again := view.flat.find(old, places[-1] + 1)) >= 0 and old:
        places.append(again)
    if len(places) > 1:
        numbers = ", ".join(str(view.line_of(place)) for place in places[:20])
        more = " …" if len(places) > 20 else ""
        where = f"matches {len(places)} times at lines {numbers}{more} of {file.at.shown}"
        raise ToolError(f"{where}; add lines around it to make it unique", code="ambiguous")
    return view.replace(start, start + len(old), new)


def check_base(workspace: Workspace, file: TextFile) -> None:
    """Raises ToolError `changed`, with what changed, if the model was last shown another content of this file."""
    before = workspace.seen(file)
    if before is None:
        return
    workspace.note_seen(file)
    raise ToolError(
        f"{file.at.shown} changed since you last saw it; nothing was written. {changes_since(before, file)}",
        code="changed",
    )


def changes_since(before: str, file: TextFile) -> str:
    """What a file became, for the model: the difference, or the new text where that is shorter."""
    change = diff(before, file.content) if before else None
    if change is not None and change.hunks and len(change.hunks) <= MAX_SHOWN_CHARACTERS:
        return f"What changed meanwhile:\n{change.hunks}"
    lines = split_lines(file.content)
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))
    if len(numbered) <= MAX_SHOWN_CHARACTERS:
        return f"Its text is now:\n{numbered}"
    return "Read it again before you edit it."


def edited(verb: str, at: Location, change: Diff) -> ToolResult:
    """The result of one file; `verb` is edited, created or deleted."""
    shown = "" if verb == "deleted" else change.hunks
    if len(shown) > MAX_SHOWN_CHARACTERS:
        shown = shown[:MAX_SHOWN_CHARACTERS].rsplit("\n", 1)[0] + "\n[hunk cut here]\n"
    old_name = None if verb == "created" else at.shown
    new_name = None if verb == "deleted" else at.shown
    return ToolResult(
        output=f"{verb} {at.shown} (+{change.added} -{change.removed})\n{shown}".rstrip("\n"),
        summary=f"{at.shown} (+{change.added} -{change.removed})",
        files_changed=(at.shown,),
        diff=change.with_header(old_name, new_name),
        data={"path": at.shown, "added": change.added, "removed": change.removed},
    )
