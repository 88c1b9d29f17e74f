"""What a hub has not kept of what this machine pushed: written by the shipper, said by `hub status`."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec


class Losses(msgspec.Struct):
    """Since the hub was joined. `refused`: events it did not want; `late`: it had later ones of their source already.

    `reason`: of the latest, one line; "" without one.
    """

    refused: int = 0
    late: int = 0
    reason: str = ""

    @property
    def count(self) -> int:
        return self.refused + self.late


def read_losses(path: Path) -> Losses:
    """What was written, nothing where that is not there or can't be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Losses)
    except (OSError, msgspec.DecodeError):
        return Losses()


def write_losses(path: Path, losses: Losses) -> None:
    """As a whole or not at all. Raises OSError."""
    private = path.with_suffix(f".{os.getpid()}.new")
    private.write_bytes(msgspec.json.encode(losses))
    private.replace(path)
