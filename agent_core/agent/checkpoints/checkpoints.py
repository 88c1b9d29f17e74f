"""Checkpoints: what the tools of each turn changed, kept so that it can be taken back.

Edits are recorded one by one as they are written. Around commands the tree is looked at before and after; what differs
counts as the command's work. Belongs to one session; its files are in the state folder, never in the workspace.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Literal

import msgspec

from agent_core.agent.checkpoints.scan import Key, Seen, Tree, scan
from agent_core.agent.checkpoints.store import MadeFolder, NotCovered, Side, Step, Store, Void
from agent_core.tools.workspace.disk import digest_of
from agent_core.tools.workspace.roots import Location
from agent_core.tools.workspace.workspace import Workspace

TOO_LARGE = "what commands changed: the workspace is too large to look at around each"
MAX_NAMED = 200
"""Files that are named of one command."""


class Found(msgspec.Struct):
    """What a command changed, known once it ended: paths as they are shown, and how many more there are."""

    paths: tuple[str, ...] = ()
    more: int = 0


class Checkpoints:
    """Set as the workspace's `recorder`. Outside of turns nothing is recorded."""

    def __init__(self, store: Store, workspace: Workspace) -> None:
        self.store, self._workspace = store, workspace
        self._turn: str | None = None
        self._known: dict[Key, Seen] = {}
        self._too_large = False
        self._next = 1 + max((each.n for each in store.records if isinstance(each, Step)), default=0)
        workspace.recorder = self

    @contextmanager
    def recording(self, turn: str) -> Iterator[None]:
        """What is written in here belongs to `turn`."""
        before, self._turn = self._turn, turn
        try:
            yield
        finally:
            self._turn = before

    def steps(self, turn: str) -> list[Step]:
        """What happened in a turn, oldest first."""
        void = {record.n for record in self.store.records if isinstance(record, Void)}
        return [
            record
            for record in self.store.records
            if isinstance(record, Step) and record.turn == turn and record.n not in void
        ]

    def folders(self, turn: str) -> list[Key]:
        """Folders that commands made in a turn, inner ones first."""
        made = {(r.root, r.path) for r in self.store.records if isinstance(r, MadeFolder) and r.turn == turn}
        return sorted(made, reverse=True)

    def gaps(self, turn: str) -> list[str]:
        """What of a turn can't be undone, in words."""
        found = [r.what for r in self.store.records if isinstance(r, NotCovered) and r.turn == turn]
        return list(dict.fromkeys(found))

    def knows(self, turn: str) -> bool:
        return any(not isinstance(record, Void) and record.turn == turn for record in self.store.records)

    def begin(self, at: Location, before: bytes | None, after: bytes | None, mode: int | None) -> int | None:
        if self._turn is None:
            return None
        return self.note(at.key, self._side(before, mode), self._side(after, mode))

    def void(self, step: int) -> None:
        self.store.add(Void(step))

    def note(self, key: Key, before: Side | None, after: Side | None, by: Literal["edit", "command"] = "edit") -> int:
        """Record one step of the running turn; its number."""
        assert self._turn is not None
        number, self._next = self._next, self._next + 1
        self.store.add(Step(n=number, turn=self._turn, root=key[0], path=key[1], before=before, after=after, by=by))
        return number

    @asynccontextmanager
    async def command(self) -> AsyncIterator[Found]:
        """Around a command: what it changes is recorded, also if it is cancelled, and told in what is given."""
        turn, found = self._turn, Found()
        if turn is None or not self.store.open:
            yield found
            return
        before = await asyncio.to_thread(self._look) if not self._too_large else None
        if before is None or not before.whole:
            # To look only at a part of the tree, each time, would cost more than it is worth.
            self._too_large = True
            self.store.add(NotCovered(turn=turn, what=TOO_LARGE))
            yield found
            return
        try:
            yield found
        finally:
            # A cancelled command has changed things too, so this runs to its end; the scan is bounded in time.
            after = await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(self._look)))
            changed = self._compare(turn, before, after)
            found.paths, found.more = tuple(changed[:MAX_NAMED]), max(0, len(changed) - MAX_NAMED)

    def _look(self) -> Tree:
        known = {key: seen for key, seen in self._known.items() if self.store.has(seen.digest.hex())}
        tree = scan(self._workspace.roots, known, self._workspace.secrets)
        for seen in tree.files.values():
            if seen.data is not None:
                self.store.put(seen.digest.hex(), seen.data)
        self._known = tree.files
        return tree

    def _compare(self, turn: str, before: Tree, after: Tree) -> list[str]:
        """The paths, as they are shown, of what differs."""
        changed = []
        if not after.whole:
            self.store.add(NotCovered(turn=turn, what=TOO_LARGE))
        with self.recording(turn):
            for key in sorted(before.files.keys() | after.files.keys()):
                old, new = before.files.get(key), after.files.get(key)
                if new is None and not after.whole:
                    continue
                if (old and (old.digest, old.mode)) != (new and (new.digest, new.mode)):
                    self.note(key, self._kept(old), self._kept(new), "command")
                    shown = self._workspace.shown(*key)
                    digest = None if old is None else old.digest
                    content = partial(self.store.get, "" if digest is None else digest.hex())
                    self._workspace.changes.note_command(shown, digest, content)
                    changed.append(shown)
        for root, path in sorted(after.folders - before.folders):
            self.store.add(MadeFolder(turn=turn, root=root, path=path))
        return changed

    def _side(self, data: bytes | None, mode: int | None) -> Side | None:
        if data is None:
            return None
        digest = digest_of(data).hex()
        return Side(digest, mode, self.store.put(digest, data))

    def _kept(self, seen: Seen | None) -> Side | None:
        if seen is None:
            return None
        digest = seen.digest.hex()
        return Side(digest, seen.mode, self.store.has(digest))
