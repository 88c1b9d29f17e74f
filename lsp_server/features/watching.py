"""Files that change outside of the editor: settings hold at once, and a document that changed on disk under unsaved
text is told to the user. Ignored folders are not watched at all. Nothing that is seen here ever starts a turn."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from pathlib import Path

from agent_core.text import is_sound
from agent_core.tools.workspace.walk import walk
from lsp_server.editor import Editor
from lsp_server.rpc.routes import Routes
from lsp_server.settings import is_settings_file, settings_folder

log = logging.getLogger(__name__)

BEGIN_S = 1.0
MAX_FOLDERS = 4_000
"""Folders watched at most, those nearest to a root first: each costs the system a watch."""
SETTLE_S = 1.0
SLICE = 500
"""Changes that are looked at without a pause for anything else; a storm of them comes at once."""


def register(editor: Editor, routes: Routes) -> None:
    def start() -> None:
        editor.spawn(_follow(editor), "watch files")

    editor.bus.started.add(start)


async def _follow(editor: Editor) -> None:
    await asyncio.sleep(BEGIN_S)
    limit = MAX_FOLDERS
    while True:
        roots = editor.roots
        # The watching library takes names in UTF-8 only.
        folders = [each for each in await asyncio.to_thread(folders_of, roots) if is_sound(each)][:limit]
        if not folders:
            await editor.wait_for_folders()
            continue
        try:
            await _until_folders_change(editor, roots, folders)
        except FileNotFoundError:
            pass  # a folder went before it was watched
        except OSError as error:
            limit = max(1, len(folders) // 2)
            log.warning("the system watches no %d folders (%s); %d from here on", len(folders), error, limit)
        await asyncio.sleep(SETTLE_S)


async def _until_folders_change(editor: Editor, roots: tuple[Path, ...], folders: list[str]) -> None:
    """Act on changes; returns once other folders have to be watched."""
    from watchfiles import Change, awatch

    known = set(folders)
    async for changes in awatch(*folders, recursive=False, rust_timeout=1_000, yield_on_timeout=True, debounce=200):
        settings = other_folders = False
        for number, (change, path) in enumerate(changes):
            if number % SLICE == SLICE - 1:
                await asyncio.sleep(0)
            settings = settings or is_settings_file(path, roots)
            document = editor.documents.at(path)
            if document is not None:
                editor.buffers.compare(document)
            if change is Change.added:
                other_folders = other_folders or (path not in known and os.path.isdir(path))  # noqa: PTH112
            elif change is Change.deleted:
                other_folders = other_folders or path in known
        if settings:
            editor.settings_changed()
            await editor.pull_settings()
        if other_folders or editor.roots != roots:
            return


def folders_of(roots: tuple[Path, ...]) -> list[str]:
    """Folders worth watching, nearest first, with the settings' own right behind their root. Runs in a thread."""
    found: deque[tuple[int, str]] = deque()
    for root in roots:
        found.append((0, str(root)))
        for entry in walk(str(root), ""):
            if entry.is_folder:
                path = f"{root}/{entry.relative}"
                found.append((0 if path == settings_folder(root) else entry.relative.count("/") + 1, path))
            if len(found) >= MAX_FOLDERS * 4:
                break
    ordered = sorted(found)
    if len(ordered) > MAX_FOLDERS:
        log.warning("only the first %d of more than %d folders are watched", MAX_FOLDERS, len(ordered))
    return [path for _, path in ordered[:MAX_FOLDERS]]
