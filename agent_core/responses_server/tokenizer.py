"""Text to token ids: the only module that touches a tokenizer library.

Part: `bpe-openai` (one maintainer round GitHub's Rust crate; o200k ranks in the wheel). Named substitute: `tiktoken`,
whose `get_encoding("o200k_base").encode_ordinary` is the same function but fetches its ranks over the network.
"""

from __future__ import annotations

import threading
from typing import Protocol

SLICE_CHARS = 50_000
"""Longest text given to the library at once. It refuses 1,000,000 characters and 200,000 tokens, and a character has at
most four bytes, so at most four tokens. It is also the longest piece of work that holds the interpreter (a few ms)."""


class Encoder(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...


class Tokenizer:
    """o200k_base without special tokens. `encode` is a pure function of its text; thread-safe."""

    def __init__(self) -> None:
        self._encoder: Encoder | None = None
        self._loading = threading.Lock()

    @property
    def loaded(self) -> bool:
        return self._encoder is not None

    def load(self) -> Encoder:
        """Build the rank tables (some 0.2 s of CPU; blocks). Later calls return at once."""
        with self._loading:
            if self._encoder is None:
                from bpe_openai import get_encoding

                self._encoder = get_encoding("o200k_base")
            return self._encoder

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`, cut every `SLICE_CHARS` characters."""
        encoder = self._encoder or self.load()
        if len(text) <= SLICE_CHARS:
            return encoder.encode_ordinary(text)
        tokens: list[int] = []
        for start in range(0, len(text), SLICE_CHARS):
            tokens += encoder.encode_ordinary(text[start : start + SLICE_CHARS])
        return tokens
