"""The lines of a whole page: painted when they are looked at, however long the page. Pure.

What was not painted yet at this width counts with its last known height; `settle` makes heights true from the end up,
a slice at a time, so that a long session is shown at once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from dashboard.agent.conversation.blocks import Block
from dashboard.agent.paint.blocks import can_open, paint_block
from dashboard.widgets.spans import Line

GUESS_CELLS_PER_BYTE = 1.1


class Sheet:
    """Owned by the widget that shows it."""

    def __init__(self) -> None:
        self.width = 80
        self.opened: set[str] = set()
        """Keys of the blocks that show all they have."""
        self._blocks: list[Block] = []
        self._painted: list[tuple[Block, bool, int, list[Line]] | None] = []
        """Of each block: what was painted, as open or not, at which width."""
        self._heights: list[int] = []
        self._tops: list[int] | None = None
        self._unsettled = 0
        """Blocks before this one may have another height than is counted."""

    def take(self, blocks: Sequence[Block], changed: int) -> None:
        """The blocks as they are now; those before `changed` are as they were."""
        self._blocks[changed:] = blocks[changed:]
        del self._painted[len(blocks) :]
        del self._heights[len(blocks) :]
        for at in range(changed, len(blocks)):
            if at >= len(self._painted):
                self._painted.append(None)
                self._heights.append(1)
            self._paint(at)
        self._tops = None

    def load(self, blocks: Sequence[Block]) -> None:
        """Another page altogether, whose heights are guessed until they are looked at."""
        self._blocks = list(blocks)
        self._painted = [None] * len(blocks)
        self._heights = [self._guess(block) for block in blocks]
        self._tops = None
        self._unsettled = len(blocks)

    def resize(self, width: int) -> None:
        self.width, self._unsettled = width, len(self._blocks)

    @property
    def height(self) -> int:
        return self._starts()[-1]

    def line(self, y: int) -> tuple[Line, str | None]:
        """The line at `y`, and the key of its block."""
        at = self.block_at(y)
        if at is None:
            return (), None
        lines = self._lines(at)
        row = y - self._starts()[at]
        return (lines[row] if row < len(lines) else ()), self._blocks[at].key

    def look(self, y: int, count: int) -> bool:
        """Paint what `count` lines from `y` on need; whether a height turned out different."""
        differs = False
        row = max(0, y)
        while row < y + count:
            at = self.block_at(row)
            if at is None:
                break
            differs |= self._paint(at)
            row = max(row + 1, self._starts()[at] + self._heights[at])
        return differs

    def settle(self, most: int) -> bool:
        """Paint up to `most` blocks that were not painted at this width, the latest first; False: nothing is left."""
        self._unsettled = min(self._unsettled, len(self._blocks))
        left = most
        while self._unsettled and left:
            self._unsettled -= 1
            if not self._is_true(self._unsettled):
                self._paint(self._unsettled)
                left -= 1
        return self._unsettled > 0

    def block_at(self, y: int) -> int | None:
        """Index of the block that has line `y`."""
        starts = self._starts()
        if not 0 <= y < starts[-1]:
            return None
        return bisect_right(starts, y) - 1

    def key(self, at: int) -> str:
        return self._blocks[at].key

    def top_of(self, at: int) -> int:
        return self._starts()[at]

    def toggle(self, at: int) -> None:
        """Open a block that can be opened, or close it."""
        block = self._blocks[at]
        if can_open(block):
            self.opened ^= {block.key}
            self._paint(at)

    def openable(self) -> list[int]:
        """Indices of the blocks that have more to show."""
        return [at for at, block in enumerate(self._blocks) if can_open(block)]

    def _is_true(self, at: int) -> bool:
        painted, block = self._painted[at], self._blocks[at]
        return (
            painted is not None
            and painted[0] is block
            and painted[2] == self.width
            and painted[1] == (block.key in self.opened)
        )

    def _lines(self, at: int) -> list[Line]:
        self._paint(at)
        painted = self._painted[at]
        assert painted is not None
        return painted[3]

    def _paint(self, at: int) -> bool:
        """Whether its height changed."""
        if self._is_true(at):
            return False
        block = self._blocks[at]
        opened = block.key in self.opened
        lines = paint_block(block, self.width, opened=opened, before=self._blocks[at - 1] if at else None)
        self._painted[at] = (block, opened, self.width, lines)
        if len(lines) == self._heights[at]:
            return False
        self._heights[at] = len(lines)
        self._tops = None
        return True

    def _starts(self) -> list[int]:
        """Where each block starts, and where the page ends."""
        if self._tops is None:
            self._tops = [0, *accumulate(self._heights)]
        return self._tops

    def _guess(self, block: Block) -> int:
        text = str(getattr(block, "text", ""))
        return max(1, text.count("\n") + int(len(text) * GUESS_CELLS_PER_BYTE / self.width)) + 1
