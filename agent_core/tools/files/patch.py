"""The tool `patch`: changes of several files that happen together or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agent_core.errors import ToolError
from agent_core.tools import schema
from agent_core.tools.files.edit import MAX_SHOWN_CHARACTERS, check_base, edited
from agent_core.tools.files.patch_format import FilePatch, read_patch
from agent_core.tools.files.patch_match import patched
from agent_core.tools.port import ToolContext, ToolResult, ToolSpec
from agent_core.tools.workspace.diffs import Diff, diff
from agent_core.tools.workspace.roots import Location
from agent_core.tools.workspace.text import UTF8, Encoding
from agent_core.tools.workspace.transaction import FileChange, apply
from agent_core.tools.workspace.workspace import TextFile, Workspace


class _Draft(msgspec.Struct):
    """A file as the patch leaves it. `base` None: it did not exist. `content` None: it is gone."""

    at: Location
    base: TextFile | None
    content: str | None
    encoding: Encoding = UTF8
    mode: int | None = None


class PatchTool:
    """`patch`: `patched N files (+a -b)`, then each file as `edit` reports it, without hunks once they get too long."""

    spec = ToolSpec(
        name="patch",
        description=(
            "Change several files at once, all or none: *** Begin Patch with *** Add File, *** Update File, "
            "*** Delete File sections, or a unified diff."
        ),
        parameters=schema.parameters({"patch": schema.STRING}),
        kind="edit",
    )

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        drafts: dict[str, _Draft] = {}
        for section in read_patch(arguments["patch"]):
            await self._draft(drafts, section)
        changes = [
            FileChange(at=draft.at, base=draft.base, content=draft.content, encoding=draft.encoding, mode=draft.mode)
            for draft in drafts.values()
            if draft.base is not None or draft.content is not None
        ]
        changes = [change for change in changes if change.base is None or change.content != change.base.content]
        if not changes:
            raise ToolError("the patch leaves every file as it is", code="no_change")
        await apply(self._workspace, changes)
        return _result(changes)

    async def _draft(self, drafts: dict[str, _Draft], section: FilePatch) -> None:
        """Add what one section does to the drafts; a later section sees what an earlier one left."""
        draft = await self._open(drafts, section.path, fresh=section.kind == "add")
        if section.kind == "add":
            if draft.content is not None:
                raise ToolError(f"{draft.at.shown} exists already; nothing was written", code="exists")
            draft.content = section.added
            return
        if draft.content is None:
            raise ToolError(f"{draft.at.shown}: no such file; nothing was written", code="not_found")
        if section.kind == "delete":
            draft.content = None
            return
        draft.content = patched(draft.content, section.hunks, draft.at.shown)
        if section.move_to is not None:
            await self._move(drafts, draft, section.move_to)

    async def _move(self, drafts: dict[str, _Draft], draft: _Draft, path: str) -> None:
        target = await self._open(drafts, path, fresh=True)
        if target is draft:
            return
        if target.content is not None:
            raise ToolError(f"{target.at.shown} exists already; nothing was written", code="exists")
        target.content, draft.content = draft.content, None
        if draft.base is not None:
            target.encoding, target.mode = draft.base.encoding, draft.base.mode

    async def _open(self, drafts: dict[str, _Draft], path: str, *, fresh: bool) -> _Draft:
        at = self._workspace.resolve(path)
        key = str(at.path)
        if key not in drafts:
            base: TextFile | None = None
            if not fresh or self._workspace.kind(at) is not None:
                base = await self._workspace.read(at)
                check_base(self._workspace, base)
            drafts[key] = _Draft(at, base, base.content if base else None)
        return drafts[key]


def _result(changes: list[FileChange]) -> ToolResult:
    parts = [_part(change) for change in changes]
    added = sum(int(part.data["added"]) for part in parts)
    removed = sum(int(part.data["removed"]) for part in parts)
    noun = "file" if len(parts) == 1 else "files"
    head = f"patched {len(parts)} {noun} (+{added} -{removed})"
    lines = [head]
    room = MAX_SHOWN_CHARACTERS
    for part in parts:
        room -= len(part.output)
        lines.append(part.output if room >= 0 else part.output.split("\n", 1)[0])
    return ToolResult(
        output="\n".join(lines),
        summary=f"{len(parts)} {noun} (+{added} -{removed})",
        files_changed=tuple(path for part in parts for path in part.files_changed),
        diff="".join(part.diff for part in parts),
        data={"files": [dict(part.data) for part in parts], "added": added, "removed": removed},
    )


def _part(change: FileChange) -> ToolResult:
    if change.base is None:
        return edited("created", change.at, diff("", change.content or ""))
    found: Diff = diff(change.base.content, change.content or "")
    return edited("edited" if change.content is not None else "deleted", change.at, found)
