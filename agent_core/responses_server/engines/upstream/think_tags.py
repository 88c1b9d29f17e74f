"""Reasoning that a server leaves in the text, between tags at the start of the answer. Pure."""

from __future__ import annotations

from typing import Final, Literal

_TAGS: Final = {"<think>": "</think>", "<thinking>": "</thinking>", "<reasoning>": "</reasoning>"}

Kind = Literal["text", "reasoning"]


class ThinkTags:
    """Splits the pieces of one answer. A tag may be cut anywhere; only one that begins the answer counts, since
    anywhere else a model may be writing about tags."""

    def __init__(self) -> None:
        self._held = ""
        """What may turn out to be a tag."""
        self._end: str | None = None
        self._begun = False

    def feed(self, text: str) -> list[tuple[Kind, str]]:
        if self._begun and self._end is None:
            return [("text", text)] if text else []
        self._held += text
        if not self._begun:
            start = self._held.lstrip()
            if any(tag != start and tag.startswith(start) for tag in _TAGS):
                return []
            self._begun = True
            opened = next((tag for tag in _TAGS if start.startswith(tag)), None)
            if opened is None:
                return self._out("text")
            self._end, self._held = _TAGS[opened], start.removeprefix(opened).lstrip("\n")
        assert self._end is not None
        thought, tag, rest = self._held.partition(self._end)
        if tag:
            self._end, self._held = None, rest.lstrip("\n")
            return [*([("reasoning", thought)] if thought else []), *self._out("text")]  # type: ignore[list-item]
        kept = next((n for n in range(len(self._end) - 1, 0, -1) if self._held.endswith(self._end[:n])), 0)
        thought, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
        return [("reasoning", thought)] if thought else []

    def finish(self) -> list[tuple[Kind, str]]:
        """What was held back, once nothing more comes."""
        self._begun = True
        return self._out("text" if self._end is None else "reasoning")

    def _out(self, kind: Kind) -> list[tuple[Kind, str]]:
        text, self._held = self._held, ""
        return [(kind, text)] if text else []
