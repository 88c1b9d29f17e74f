"""Checkpoints: what the tools of each turn changed, kept so that it can be taken back.

Edits are recorded one by one as they are written. Around commands the tree is looked at before and after; what differs
counts as the command's work. Where a command goes on in the background, the next look is compared with the last one.
Belongs to one session; its files are in the state folder, never in the workspace.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Literal

import msgspec

from agent_core.agent.checkpoints.scan import MAX_FILES, MAX_STAMPED, Key, Seen, Tree, scan
from agent_core.agent.checkpoints.store import MadeFolder, NotCovered, Side, Step, Store, Void
from agent_core.tools.workspace.disk import digest_of
from agent_core.tools.workspace.roots import Location
from agent_core.tools.workspace.workspace import Workspace

TOO_LARGE = "what commands changed: the workspace is too large to look at around each"
UNSEEN = (
    f"the workspace has more than {MAX_STAMPED:,} files, or is slow to look at: what commands change in it is neither "
    "told nor undone"
)
MAX_NAMED = 200
"""Files that are named of one command."""


SLACK_NS = 100_000_000
"""Times of files are those of the last tick of the clock, and come in coarse steps on some file systems."""


class Found(msgspec.Struct):
    """What a command changed, known once it ended: paths as they are shown, and how many more there are."""

    paths: tuple[str, ...] = ()
    more: int = 0


class Checkpoints:
    """Set as the workspace's `recorder`. Outside of turns nothing is recorded."""

    def __init__(self, store: Store, workspace: Workspace, warn: Callable[[str], None] = lambda text: None) -> None:
        """`warn` tells a person once what is not seen."""
        self.store, self._workspace, self._warn = store, workspace, warn
        self._last: Tree | None = None
        self._edited: set[Key] = set()
        """Written by tools since the last look."""
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
        self._edited.add(at.key)
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
    async def command(self, *, behind: bool = False) -> AsyncIterator[Found]:
        """Around a command: what it changes is recorded, also if it is cancelled, and told in what is given.

        `behind`: another one goes on in the background, so what changed since the last look is told as well, but for
        what tools wrote and for documents that are open in an editor, where somebody may be typing.
        """
        turn, found = self._turn, Found()
        if turn is None or not self.store.open:
            yield found
            return
        last, mine = self._last, frozenset(self._edited)
        large = last is not None and len(last.files) > MAX_FILES and not behind
        since_ns = time.time_ns() - SLACK_NS if large else 0
        # A large tree is looked at once a command: what the last look does not tell, the times of files do.
        before = last if large else await asyncio.to_thread(self._look) if not self._too_large else None
        if before is None or not before.whole:
            # To look only at a part of the tree, each time, would cost more than it is worth.
            if not self._too_large:
                self._warn(UNSEEN)
            self._too_large = True
            self.store.add(NotCovered(turn=turn, what=TOO_LARGE))
            yield found
            return
        if behind and last is not None:
            before = self._without(last, before, mine)
        try:
            yield found
        finally:
            # A cancelled command has changed things too, so this runs to its end; the scan is bounded in time.
            after = await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(self._look)))
            changed = self._compare(turn, before, after, since_ns)
            found.paths, found.more = tuple(changed[:MAX_NAMED]), max(0, len(changed) - MAX_NAMED)

    def _look(self) -> Tree:
        known = {key: seen for key, seen in self._known.items() if self.store.has(seen.digest.hex())}
        tree = scan(self._workspace.roots, known, self._workspace.secrets)
        for seen in tree.files.values():
            if seen.data is not None:
                self.store.put(seen.digest.hex(), seen.data)
        self._known = tree.files
        self._last, self._edited = tree, set()
        return tree

    def _without(self, last: Tree, now: Tree, mine: frozenset[Key]) -> Tree:
        """`last`, but as of `now` for what others than commands changed since."""
        open_now = set(self._workspace.documents.opened()) if self._workspace.documents is not None else set()
        files = dict(last.files)
        for key in files.keys() | now.files.keys():
            if key in mine or os.path.join(*key) in open_now:  # noqa: PTH118 - plain strings are the keys here
                if (seen := now.files.get(key)) is None:
                    files.pop(key, None)
                else:
                    files[key] = seen
        return Tree(files, last.folders, last.whole)

    def _compare(self, turn: str, before: Tree, after: Tree, since_ns: int) -> list[str]:
        """The paths, as they are shown, of what differs and was touched since a time."""
        changed = []
        if not after.whole:
            self.store.add(NotCovered(turn=turn, what=TOO_LARGE))
        with self.recording(turn):
            for key in sorted(before.files.keys() | after.files.keys()):
                old, new = before.files.get(key), after.files.get(key)
                if (new is None and not after.whole) or not _touched(key, new, since_ns):
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


def _touched(key: Key, now: Seen | None, since_ns: int) -> bool:
    """Whether a file, or for one that is gone its folder, was touched since a time."""
    if not since_ns:
        return True
    if now is not None:
        return now.changed_ns >= since_ns
    try:
        return os.lstat(os.path.dirname(os.path.join(*key))).st_mtime_ns >= since_ns  # noqa: PTH118, PTH120
    except OSError:
        return True  # its folder is gone too
