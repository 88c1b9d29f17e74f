"""A journal of what a long run has done, so that it goes on where it stopped."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class SoakJournal:
    """One file of JSON lines under `.cache/soak/` (or `LOOPLINE_SOAK_DIR`)."""

    def __init__(self, name: str) -> None:
        self._path = Path(os.environ.get("LOOPLINE_SOAK_DIR", ".cache/soak")) / f"{name}.jsonl"

    def done(self, key: str) -> dict[str, Any] | None:
        """The result of a part that is done, None if it is not."""
        if not self._path.exists():
            return None
        rows = [json.loads(line) for line in self._path.read_text(encoding="utf-8").splitlines()]
        return next((row for row in rows if row["key"] == key), None)

    def note(self, key: str, **result: Any) -> dict[str, Any]:
        row = {"key": key, **result}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as journal:
            journal.write(json.dumps(row) + "\n")
        return row
