"""Where a JSON object ends in a text that is still growing. Pure; each character is looked at once."""

from __future__ import annotations


class JsonScan:
    """Follows one object (or array). What is no JSON is followed all the same, by its brackets and strings."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = self._escaped = False
        self.is_complete = False

    def feed(self, text: str) -> int | None:
        """How many characters of `text` still belong to it, None if it goes on behind them."""
        if self.is_complete:
            return 0
        for at, char in enumerate(text):
            if self._in_string:
                if self._escaped:
                    self._escaped = False
                elif char == "\\":
                    self._escaped = True
                elif char == '"':
                    self._in_string = False
            elif char == '"':
                self._in_string = True
            elif char in "{[":
                self._depth += 1
            elif char in "}]":
                self._depth -= 1
                if self._depth <= 0:
                    self.is_complete = True
                    return at + 1
        return None
