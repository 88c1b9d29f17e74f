"""Undoing a turn: the agent's changes are taken back, what others did since stays.

Newest change first; each text is merged in three ways (after the agent, as it is now, before the agent). Where both
touched the same lines ours to keep is what is there now, and the place is listed. Each file is read again afterwards:
only what has the expected bytes counts as restored. Undoing is recorded like a turn, so it can be undone too. A guarded
file, which runs by itself, is brought back exactly as it was or not at all: nothing is merged into it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Literal

import msgspec

from agent_core.agent.checkpoints.checkpoints import Checkpoints
from agent_core.agent.checkpoints.scan import Key
from agent_core.agent.checkpoints.store import MAX_OBJECT_BYTES, Side, Step
from agent_core.errors import ToolError
from agent_core.tools.workspace import disk, text
from agent_core.tools.workspace.merge import merge
from agent_core.tools.workspace.roots import Location
from agent_core.tools.workspace.workspace import TextFile, Workspace

GONE = "it is gone"
TAKEN = "there is a new file of that name"
CHANGED = "it changed since and was left as it is"
SAME_LINES = "these lines changed since and were left as they are"
NOT_KEPT = "its earlier content was not kept"
NO_ROOT = "its folder is not in the workspace any more"
OTHER_MODE = "its permissions changed since and were left as they are"
GUARDED = "it runs by itself, and it changed since: nothing is mixed into it"
NOT_RESTORED = "it could not be verified after it was written"


class Restored(msgspec.Struct, frozen=True):
    """A file that was brought back; verified by reading it again. `what` happened to it now."""

    path: str
    what: Literal["changed", "recreated", "removed", "renamed", "mode"]


class Conflict(msgspec.Struct, frozen=True):
    """Something that was left as it is. `first` and `last` are lines of the file as it is now (from 1), None: all."""

    path: str
    reason: str
    first: int | None = None
    last: int | None = None


class UndoReport(msgspec.Struct, frozen=True, kw_only=True):
    """`undo` is the id under which this undoing can itself be undone, None if it changed nothing. `not_covered` says
    what of the turn could not be looked at."""

    turn: str
    undo: str | None
    restored: tuple[Restored, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    not_covered: tuple[str, ...] = ()


class _Now(msgspec.Struct, frozen=True):
    """A file as it is: `file` for texts that tools may see, else its bytes only."""

    data: bytes
    mode: int
    file: TextFile | None = None


async def undo(checkpoints: Checkpoints, workspace: Workspace, turn: str, undo_id: str) -> UndoReport:
    """Take back what the tools did in `turn`. Never raises for what is in the files."""
    work = _Undoing(checkpoints, workspace)
    with checkpoints.recording(undo_id):
        for step, origin in reversed(_net(checkpoints.steps(turn))):
            try:
                with workspace.permitting([f"{each.root}/{each.path}" for each in (step, origin) if each]):
                    await work.take_back(step, origin)
            except ToolError as error:
                work.conflict(step, CHANGED if error.code == "changed" else error.message)
        for root, path in checkpoints.folders(turn):
            if root in workspace.roots:
                disk.remove_empty(root, (path,))
    return UndoReport(
        turn=turn,
        undo=undo_id if checkpoints.steps(undo_id) else None,
        restored=tuple(work.restored),
        conflicts=tuple(dict.fromkeys(work.conflicts)),
        not_covered=tuple(checkpoints.gaps(turn)),
    )


def _net(steps: list[Step]) -> list[tuple[Step, Step | None]]:
    """Steps with those that follow each other on a file taken as one. A file that vanished while another came with the
    very same content was renamed: the second of the pair is where it was."""
    runs: list[Step] = []
    last: dict[Key, int] = {}
    for step in steps:
        key = (step.root, step.path)
        at = last.get(key)
        if at is not None and _same(runs[at].after, step.before):
            runs[at] = msgspec.structs.replace(runs[at], after=step.after)
            continue
        last[key] = len(runs)
        runs.append(step)
    runs = [run for run in runs if run.before != run.after]
    gone = [run for run in runs if run.after is None]
    found: list[tuple[Step, Step | None]] = []
    moved: list[Step] = []
    for run in runs:
        origin = None
        if run.before is None and run.after is not None:
            origin = next((old for old in gone if old not in moved and _same(old.before, run.after)), None)
        if origin is not None:
            moved.append(origin)
        found.append((run, origin))
    return [(run, origin) for run, origin in found if run not in moved]


def _same(one: Side | None, other: Side | None) -> bool:
    return one is not None and other is not None and one.digest == other.digest or one is other is None


class _Undoing:
    def __init__(self, checkpoints: Checkpoints, workspace: Workspace) -> None:
        self._checkpoints, self._workspace = checkpoints, workspace
        self.restored: list[Restored] = []
        self.conflicts: list[Conflict] = []

    def conflict(self, step: Step, reason: str) -> None:
        self.conflicts.append(Conflict(self._shown(step), reason))

    async def take_back(self, step: Step, origin: Step | None) -> None:
        if step.root not in self._workspace.roots or (origin and origin.root not in self._workspace.roots):
            self.conflict(step, NO_ROOT)
            return
        at = self._workspace.resolve(os.path.join(step.root, step.path))  # noqa: PTH118
        if at.key != (step.root, step.path):
            self.conflict(step, CHANGED)  # a link stands in the way
            return
        now = await self._now(at)
        if origin is not None:
            await self._move_back(step, origin, at, now)
        elif step.after is None:
            await self._bring_back(step, at, now)
        elif step.before is None:
            await self._remove(step, at, now)
        else:
            await self._change_back(step, at, now)

    async def _bring_back(self, step: Step, at: Location, now: _Now | None) -> None:
        """The agent deleted it."""
        assert step.before is not None
        data = self._content(step.before)
        if now is not None:
            if _digest(now.data) != step.before.digest:
                self.conflict(step, TAKEN)
        elif data is None:
            self.conflict(step, NOT_KEPT)
        else:
            await self._create(at, data, step.before.mode)
            await self._verify(step, at, data, "recreated")

    async def _remove(self, step: Step, at: Location, now: _Now | None) -> None:
        """The agent made it."""
        assert step.after is not None
        if now is None:
            return
        if _digest(now.data) != step.after.digest and not self._same_text(now, step.after):
            self.conflict(step, CHANGED)
            return
        await self._delete(at, now)
        await self._verify(step, at, None, "removed")

    async def _move_back(self, step: Step, origin: Step, at: Location, now: _Now | None) -> None:
        """The agent renamed it; what others wrote into it since moves along."""
        assert step.after is not None and origin.before is not None
        if now is None:
            self.conflict(step, GONE)
            return
        target = self._workspace.resolve(os.path.join(origin.root, origin.path))  # noqa: PTH118
        if await self._now(target) is not None:
            self.conflict(origin, TAKEN)
            return
        before = self._content(origin.before)
        if _digest(now.data) == step.after.digest:
            data = before if before is not None else now.data
        elif self._workspace.guards.find(target.relative) is not None:
            self.conflict(origin, GUARDED)
            return
        elif before is None or (merged := self._merged(now, step.after, before)) is None:
            self.conflict(step, CHANGED)
            return
        else:
            data = merged[0]
        await self._create(target, data, origin.before.mode if origin.before.mode is not None else now.mode)
        await self._delete(at, now)
        await self._verify(origin, target, data, "renamed")

    async def _change_back(self, step: Step, at: Location, now: _Now | None) -> None:
        before, after = step.before, step.after
        assert before is not None and after is not None
        if now is None:
            self.conflict(step, GONE)
            return
        if before.digest != after.digest:
            await self._content_back(step, at, now)
        if before.mode is None or after.mode is None or before.mode == after.mode or now.mode == before.mode:
            return
        if now.mode != after.mode:
            self.conflict(step, OTHER_MODE)
            return
        disk.change_mode(at.root, at.relative, at.shown, now.mode, before.mode)
        present = await self._now(at)
        if present is not None:
            digest = _digest(present.data)
            self._checkpoints.note(at.key, Side(digest, now.mode, False), Side(digest, before.mode, False))
            self.restored.append(Restored(at.shown, "mode"))

    async def _content_back(self, step: Step, at: Location, now: _Now) -> None:
        assert step.before is not None and step.after is not None
        digest = _digest(now.data)
        if digest == step.before.digest:
            return
        data = self._content(step.before)
        if data is None:
            self.conflict(step, NOT_KEPT)
            return
        if digest != step.after.digest:
            if self._workspace.guards.find(at.relative) is not None:
                self.conflict(step, GUARDED)
                return
            merged = self._merged(now, step.after, data)
            if merged is None:
                self.conflict(step, CHANGED)
                return
            data, clashes = merged
            self.conflicts += [Conflict(at.shown, SAME_LINES, first, last) for first, last in clashes]
            if data == now.data:
                return
        if now.file is not None and now.file.version is not None:
            await self._workspace.write(now.file, now.file.encoding.decode(data))
        else:
            number = self._checkpoints.begin(at, now.data, data, now.mode)
            try:
                disk.replace_file(at.root, at.relative, at.shown, data, disk.digest_of(now.data))
            except ToolError:
                if number is not None:
                    self._checkpoints.void(number)
                raise
        self._workspace.forget(at)
        await self._verify(step, at, data, "changed")

    def _merged(self, now: _Now, after: Side, before: bytes) -> tuple[bytes, list[tuple[int, int]]] | None:
        """What is there now without the agent's changes, and the lines where both touched; None: no texts."""
        base = self._content(after)
        if base is None or now.file is None:
            return None
        coded = now.file.encoding
        if not (_written_in(coded, base) and _written_in(coded, before)):
            return None
        try:
            merged = merge(coded.decode(base), now.file.content, coded.decode(before))
            data = coded.encode(merged.text)
        except UnicodeError:
            return None
        return data, [(clash.first, clash.last) for clash in merged.clashes]

    def _same_text(self, now: _Now, side: Side) -> bool:
        """An editor may end lines in its own way."""
        data = self._content(side)
        if data is None or now.file is None or now.file.version is None:
            return False
        decoded = text.decode(data)
        return decoded is not None and text.to_newlines(decoded[0]) == text.to_newlines(now.file.content)

    async def _create(self, at: Location, data: bytes, mode: int | None) -> None:
        decoded = text.decode(data)
        if decoded is not None:
            await self._workspace.create(at, decoded[0], decoded[1], mode)
            self._workspace.forget(at)
            return
        number = self._checkpoints.begin(at, None, data, mode)
        try:
            disk.create_file(at.root, at.relative, at.shown, data, mode)
        except ToolError:
            if number is not None:
                self._checkpoints.void(number)
            raise

    async def _delete(self, at: Location, now: _Now) -> None:
        if now.file is not None:
            await self._workspace.remove(now.file)
            return
        number = self._checkpoints.begin(at, now.data, None, now.mode)
        try:
            disk.remove_file(at.root, at.relative, at.shown, disk.digest_of(now.data))
        except ToolError:
            if number is not None:
                self._checkpoints.void(number)
            raise

    async def _verify(
        self,
        step: Step,
        at: Location,
        expected: bytes | None,
        what: Literal["changed", "recreated", "removed", "renamed"],
    ) -> None:
        now = await self._now(at)
        if (None if now is None else now.data) == expected:
            self.restored.append(Restored(at.shown, what))
        else:
            self.conflict(step, NOT_RESTORED)

    async def _now(self, at: Location) -> _Now | None:
        """None: nothing is there. Raises ToolError for what is no regular file or too large."""
        kind = self._workspace.kind(at)
        if kind is None:
            return None
        with suppress(ToolError):
            file = await self._workspace.read(at)
            return _Now(file.encoding.encode(file.content), self._mode(at, file), file)
        snapshot = disk.read_file(at.root, at.relative, at.shown, MAX_OBJECT_BYTES)
        return _Now(snapshot.data, snapshot.mode)

    def _mode(self, at: Location, file: TextFile) -> int:
        try:
            return at.path.lstat().st_mode & 0o7777
        except OSError:
            return file.mode

    def _content(self, side: Side) -> bytes | None:
        return self._checkpoints.store.get(side.digest)

    def _shown(self, step: Step) -> str:
        return f"{step.root}/{step.path}" if step.root != self._workspace.roots[0] else step.path


def _written_in(coded: text.Encoding, data: bytes) -> bool:
    """Whether these bytes are a text of that encoding."""
    decoded = text.decode(data)
    return decoded is not None and (decoded[1] == coded or (data.isascii() and not coded.bom))


def _digest(data: bytes) -> str:
    return disk.digest_of(data).hex()
