"""One damage to one file, drawn by a seed; and what is left of what was in it."""

from __future__ import annotations

import random
from collections.abc import Mapping

BLOCK = 4096


def damaged(data: bytes, seed: int, block: int = BLOCK) -> bytes:
    """A byte flipped (every other seed), a block of zeros or noise, an end cut off, or the whole file gone so."""
    chance = random.Random(seed)
    at = chance.randrange(len(data))
    if seed % 2:
        return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
    start = at - at % block
    size = len(data[start : start + block])
    match seed // 2 % 10:
        case 0 | 1 | 2:
            return data[:start] + bytes(size) + data[start + size :]
        case 3 | 4 | 5:
            return data[:start] + chance.randbytes(size) + data[start + size :]
        case 6 | 7:
            return data[:at]
        case 8:
            return b""
        case _:
            return bytes(len(data)) if seed // 20 % 2 else chance.randbytes(len(data))


class Toll:
    """What many damages cost; `add` each, then read `line`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.damages = self.whole = self.refused = self.lost = self.altered = self.items = 0
        self.silent: list[int] = []
        """Seeds of damages that cost something of which nobody was told."""

    def add(self, seed: int, before: Mapping[str, object], after: Mapping[str, object] | None, told: bool) -> None:
        """`after` None: the file was refused as a whole. What was not there before counts as altered."""
        self.damages += 1
        self.items += len(before)
        if after is None:
            self.refused += 1
            lost = altered = 0
        else:
            lost = sum(key not in after for key in before)
            altered = sum(key not in before or value != before[key] for key, value in after.items())
        self.lost += lost
        self.altered += altered
        self.whole += not lost and not altered and after is not None
        if not told and (lost > altered or after is None):
            self.silent.append(seed)

    def line(self) -> str:
        return (
            f"{self.name}: {self.damages} damaged, {self.whole} whole, {self.refused} refused by name, {self.lost} of "
            f"{self.items} entries lost, {self.altered} read as something else, 0 tracebacks, "
            f"{len(self.silent)} silent losses"
        )
