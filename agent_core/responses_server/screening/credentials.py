"""Flags credentials that leaked into a conversation: tokens of known shape, and private keys.

One linear scan: each known shape holds an unbroken run of at least `RUN_CHARS` letters, digits, `_` and `-`. Runs are
found by one translation and one search for bytes, both in C and far below a nanosecond per character; only where there
is one are the shapes tried, once each, at its start or at what stands before it with a dot or a colon between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_core.responses_server.screening.text import TextClassifier
from agent_core.responses_server.screening.token_shapes import SHAPES

RUN_CHARS = 20
LEAST_DIFFERENT = 8
"""Different characters in a real token; a placeholder (`ghp_xxxx`) has fewer."""
BEFORE_CHARS = 64
"""How far before its long run a token is looked for."""

_TOKEN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_CLASSES = bytes(ord("a") if byte in _TOKEN else ord(" ") for byte in range(256))
_NEEDLE = b"a" * RUN_CHARS
_KINDS = list(SHAPES)
_PATTERN = re.compile("|".join(f"({'|'.join(SHAPES[kind])})" for kind in _KINDS))
_JOINTS = ".:/~+"
"""Characters that stand within tokens, between their runs."""
_PRIVATE_KEY = re.compile(r"-----BEGIN[ A-Z0-9_-]{0,60}PRIVATE KEY(?: BLOCK)?-----\s*[A-Za-z0-9+/=\s:,.\\-]{64}")


class CredentialScreen(TextClassifier):
    name = "credentials"
    code = "leaked_credential"

    def find(self, text: str) -> str | None:
        if "PRIVATE KEY" in text and _PRIVATE_KEY.search(text) is not None:
            return "what looks like a private key"
        for start in _runs(text):
            kind = _kind_at(text, start)
            if kind is not None:
                return f"what looks like a credential: {kind}"
        return None


def _runs(text: str) -> Iterator[int]:
    """Where the long runs begin."""
    classes = text.encode("ascii", "replace").translate(_CLASSES)
    at = classes.find(_NEEDLE)
    while at >= 0:
        yield at
        end = classes.find(b" ", at + RUN_CHARS)
        at = classes.find(_NEEDLE, end) if end >= 0 else -1


def _kind_at(text: str, start: int) -> str | None:
    """The kind of the token whose long run begins at `start`, None if it is none."""
    for at in _starts(text, start):
        found = _PATTERN.match(text, at)
        if found is not None and len(set(found[0])) >= LEAST_DIFFERENT and not found[0].endswith("EXAMPLE"):
            assert found.lastindex is not None
            return _KINDS[found.lastindex - 1]
    return None


def _starts(text: str, start: int) -> Iterator[int]:
    """Where a token may begin: at the run itself, and at the parts that are joined to it."""
    yield from _with_escape(text, start)
    at = start
    while at > 0 and text[at - 1] in _JOINTS and start - at < BEFORE_CHARS:
        at -= 1
        while at > 0 and (text[at - 1].isalnum() or text[at - 1] in "_-"):
            at -= 1
        yield from _with_escape(text, at)


def _with_escape(text: str, start: int) -> Iterator[int]:
    """A part's beginning, and what follows if its first letter is the rest of an escaped line end."""
    yield start
    if start and text[start - 1] == "\\" and text[start : start + 1] in ("n", "r", "t"):
        yield start + 1
