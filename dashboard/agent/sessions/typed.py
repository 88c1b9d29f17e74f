"""What the person typed in a project before: kept in the state folder, readable by its owner alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec

MAX_KEPT, MAX_CHARACTERS = 1000, 20_000


class TypedBefore:
    """Owns the project's file. What can't be read or written is as if there were nothing."""

    def __init__(self, states: Path, root: Path) -> None:
        name = blake2b(str(root).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
        self._path = states / "typed" / f"{name}.jsonl"
        self._texts: list[str] | None = None

    @property
    def texts(self) -> Sequence[str]:
        """Oldest first."""
        if self._texts is None:
            self._texts = self._read()
        return self._texts

    def add(self, text: str) -> None:
        """The same again is kept once."""
        texts = list(self.texts)
        if not text.strip() or len(text) > MAX_CHARACTERS or texts[-1:] == [text]:
            return
        self._texts = [*texts, text][-MAX_KEPT:]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if len(texts) >= MAX_KEPT:
                self._write(self._texts)
            else:
                self._append(text)
        except OSError:
            return

    def search(self, words: str) -> list[str]:
        """Those that hold all words, newest first, each once."""
        wanted = words.casefold().split()
        found = [text for text in reversed(self.texts) if all(word in text.casefold() for word in wanted)]
        return list(dict.fromkeys(found))

    def _read(self) -> list[str]:
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return []
        texts: list[str] = []
        for line in lines[-MAX_KEPT:]:
            try:
                texts.append(msgspec.json.decode(line, type=str))
            except msgspec.MsgspecError:
                continue
        return texts

    def _append(self, text: str) -> None:
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, _line(text))
        finally:
            os.close(handle)

    def _write(self, texts: Sequence[str]) -> None:
        handle = os.open(self._path, os.O_WRONLY | os.O_TRUNC | os.O_CREAT, 0o600)
        try:
            os.write(handle, b"".join(map(_line, texts)))
        finally:
            os.close(handle)


def _line(text: str) -> bytes:
    return msgspec.json.encode(text.encode("utf-8", "replace").decode()) + b"\n"
