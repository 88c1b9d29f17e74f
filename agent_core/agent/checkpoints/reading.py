"""What a turn changed, read from a session's checkpoints whoever hosts the session. Nothing is written."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import msgspec

from agent_core.agent.checkpoints.store import Side, Step, Void, read_log
from agent_core.tools.workspace.changes import By


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file before and after a turn. `existed` and `exists` say whether it was there; a content that is not kept (too
    large, or given up for newer ones) is None where the file was there."""

    root: str
    path: str
    existed: bool
    exists: bool
    before: bytes | None = None
    after: bytes | None = None
    by: By = "edit"


def changes_of(folder: Path, session: str, turn: str) -> list[FileChange]:
    """By path; empty where nothing is known of the turn."""
    try:
        log = (folder / f"{session}.log").read_bytes()
        pack = os.open(folder / f"{session}.pack", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        records, objects = read_log(log[: log.rfind(b"\n") + 1], os.fstat(pack).st_size)
        void = {record.n for record in records if isinstance(record, Void)}
        sides: dict[tuple[str, str], tuple[Side | None, Side | None]] = {}
        by: dict[tuple[str, str], By] = {}
        for step in records:
            if isinstance(step, Step) and step.turn == turn and step.n not in void:
                key = (step.root, step.path)
                sides[key] = (sides[key][0] if key in sides else step.before, step.after)
                by[key] = step.by if by.get(key, step.by) == step.by else "both"
        return [
            FileChange(
                root=root,
                path=path,
                existed=before is not None,
                exists=after is not None,
                before=_content(pack, objects, before),
                after=_content(pack, objects, after),
                by=by[root, path],
            )
            for (root, path), (before, after) in sorted(sides.items())
            if (before and before.digest) != (after and after.digest)
        ]
    finally:
        os.close(pack)


def _content(pack: int, objects: dict[str, tuple[int, int]], side: Side | None) -> bytes | None:
    place = objects.get(side.digest) if side is not None else None
    if place is None:
        return None
    try:
        return zlib.decompress(os.pread(pack, place[1], place[0]))
    except (OSError, zlib.error):
        return None
