"""Keys that Textual's parser does not tell apart by itself. It keeps them in one table, which is added to here."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, cast

from textual import _ansi_sequences


class More(StrEnum):
    ALT_ENTER = "alt+enter"


def know_more_keys() -> None:
    """Escape before carriage return is Alt+Enter, as terminals send it that speak no newer protocol."""
    table = cast(dict[str, Any], _ansi_sequences.ANSI_SEQUENCES_KEYS)
    table.setdefault("\x1b\r", (More.ALT_ENTER,))
