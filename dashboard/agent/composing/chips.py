"""Long pastes as one chip each: the composer shows `[paste 1: 5,000 lines]`, what is sent holds the text. Pure."""

from __future__ import annotations

import re

CHIP_LINES, CHIP_CHARACTERS = 6, 600
"""A paste with more of either becomes a chip."""

_CHIP = re.compile(r"\[paste (\d+): [\d,]+ (?:lines|characters)\]")


class Chips:
    """The pastes of one message; owned by the composer."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}

    def shown(self, pasted: str) -> str:
        """What the composer shows of a paste: itself, or its chip."""
        text = pasted.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + 1
        if lines <= CHIP_LINES and len(text) <= CHIP_CHARACTERS:
            return text
        number = len(self._texts) + 1
        self._texts[number] = text
        size = f"{lines:,} lines" if lines > CHIP_LINES else f"{len(text):,} characters"
        return f"[paste {number}: {size}]"

    def whole(self, shown: str) -> str:
        """The text that `shown` stands for. A chip that was changed by hand is only what it says."""
        return _CHIP.sub(lambda found: self._texts.get(int(found.group(1)), found.group()), shown)

    def ending_at(self, line: str, column: int) -> int | None:
        """Where in a line the chip starts that ends at `column`; None where none does."""
        for found in _CHIP.finditer(line):
            if found.end() == column and int(found.group(1)) in self._texts:
                return found.start()
        return None

    def clear(self) -> None:
        self._texts.clear()
