"""Several changes of files that happen together or not at all.

Owns the order of a multi-file write: everything is checked and encoded first, then written; a write that fails takes
the written ones back. A file that somebody changed between the two is left to them and named.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from agent_core.errors import ToolError
from agent_core.tools.workspace import text
from agent_core.tools.workspace.roots import Location
from agent_core.tools.workspace.workspace import TextFile, Workspace


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """`base` None: the file is new. `content` None: it is deleted. `encoding` and `mode` count for new files only."""

    at: Location
    base: TextFile | None
    content: str | None
    encoding: text.Encoding = text.UTF8
    mode: int | None = None


async def apply(workspace: Workspace, changes: Sequence[FileChange]) -> None:
    """Do all of `changes`, or none and raise ToolError."""
    for change in changes:
        _check(workspace, change)
    done: list[tuple[FileChange, TextFile | None]] = []
    try:
        for change in changes:
            now = await _do(workspace, change)
            done.append((change, now))
    except ToolError as error:
        lost = await _take_back(workspace, done)
        if lost:
            raise ToolError(f"{error.message}; could not be taken back: {', '.join(lost)}", code=error.code) from error
        raise
    except BaseException:
        await _take_back(workspace, done)
        raise


def _check(workspace: Workspace, change: FileChange) -> None:
    workspace.check_writable(change.at)
    if change.base is None and workspace.kind(change.at) is not None:
        raise ToolError(f"{change.at.shown} exists already", code="exists")
    if change.content is None:
        return
    workspace.encoded(change.at, change.base.encoding if change.base else change.encoding, change.content)
    if change.at.relative.endswith(".ipynb"):
        _check_notebook(change.at, change.content)


def _check_notebook(at: Location, content: str) -> None:
    try:
        notebook = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ToolError(
            f"{at.shown} would no longer be a notebook ({error}); nothing written", code="notebook"
        ) from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ToolError(f"{at.shown} would no longer be a notebook (no cells); nothing written", code="notebook")


async def _do(workspace: Workspace, change: FileChange) -> TextFile | None:
    """What is there afterwards; None after a deletion."""
    if change.content is None:
        assert change.base is not None
        await workspace.remove(change.base)
        return None
    if change.base is None:
        return await workspace.create(change.at, change.content, change.encoding, change.mode)
    return await workspace.write(change.base, change.content)


async def _take_back(workspace: Workspace, done: list[tuple[FileChange, TextFile | None]]) -> list[str]:
    """Undo newest first. Names of files that could not be brought back are returned."""
    lost: list[str] = []
    for change, now in reversed(done):
        try:
            if now is None:
                assert change.base is not None
                base = change.base
                await workspace.create(base.at, base.content, base.encoding, base.mode)
            elif change.base is None:
                await workspace.remove(now)
            else:
                await workspace.write(now, change.base.content)
        except ToolError:
            lost.append(change.at.shown)
    return lost
