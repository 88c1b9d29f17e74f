"""Words of a command line: the nodes of the tree that are one word to bash, read from their own text. Pure.

A word is understood only if its text, character by character, is what bash would read as that one word. Everything
else is `unclear`, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from agent_core.agent.approvals.grammar import Node

SUBSTITUTION = "command substitution"
PROCESS_SUBSTITUTION = "process substitution"
NOT_UNDERSTOOD = "shell syntax that is not understood"
JOINED_LINES = "a line that is joined with the next inside a word"
NUMERIC_ESCAPE = "a numeric escape"
EXPANSION = "an expansion that can run or change something"

WORDS = frozenset({"word", "number", "raw_string", "string", "ansi_c_string", "concatenation", "simple_expansion",
                   "expansion", "command_substitution", "arithmetic_expansion", "process_substitution", "variable_name",
                   "brace_expression", "test_operator", "special_variable_name"})  # fmt: skip
"""Kinds of nodes that are one word, or a piece of one."""

_PLAIN = re.compile(r"(?:\\[^\n]|[^\s\\\"'`$&|;<>()\x00-\x20\x7f])*")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9?$!#@*-])", re.ASCII)
_BRACED = re.compile(
    r"\$\{(?:#?[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?]|[A-Za-z_][A-Za-z0-9_]*(?::?[-+]|##?|%%?)[A-Za-z0-9_./*,:=+ -]*)\}",
    re.ASCII,
)
_RAW = re.compile(r"'[^']*'")
_ANSI_TEXT = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_ANSI_SELF = frozenset("\\'\"?")
_DOUBLE = re.compile(r'(?:[^"\\$`]|\\[^\n]|\$(?=[\s%/.,:;)=+~^&|<>\]}"]))*')
_BRACES = re.compile(r"\{[^{}]*(,|\.\.)|\{.*(,|\.\.).*\}")
_ASSIGNS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=", re.ASCII)
_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[", re.ASCII)


class Word(msgspec.Struct, frozen=True):
    """A word without its quotes.

    `open`: the shell puts something into it that can't be known from here (a variable, braces). `splits`: what is put
    in may become several words. `glob`: it may stand for names of files. `bare`: nothing of it was quoted. `assigns`:
    before a program it sets a variable; `subscript`: it would set an element of an array there.
    """

    text: str
    open: bool = False
    glob: bool = False
    bare: bool = True
    splits: bool = False
    assigns: bool = False
    subscript: bool = False


class _Unclear(Exception):
    def __init__(self, reason: str) -> None:
        self.reason = reason


class WordReader:
    """Reads words of one text. `note` is told what is unclear, `inside` gets nodes that hold commands of their own."""

    def __init__(self, source: bytes, note: Callable[[str], None], inside: Callable[[Node], None]) -> None:
        self.source, self._note, self._inside = source, note, inside

    def text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode()

    def read(self, node: Node) -> Word:
        """The word; what is unclear is noted, and its source stands for it."""
        piece = _Piece(self, node)
        try:
            piece.add(node)
        except _Unclear as unclear:
            self._note(unclear.reason)
            self._inside(node)
            return Word(self.text(node), open=True, splits=True)
        return piece.word()

    def substitution(self, node: Node) -> None:
        self._note(PROCESS_SUBSTITUTION if node.type == "process_substitution" else SUBSTITUTION)
        self._inside(node)


class _Piece:
    """A word as it is put together from the nodes it consists of."""

    def __init__(self, reader: WordReader, node: Node) -> None:
        self._reader, self._raw = reader, reader.text(node)
        self._parts: list[str] = []
        self._unquoted: list[str] = []
        self._open = self._splits = self._glob = self._quoted = False

    def word(self) -> Word:
        # Braces and the home folder are put in before anything else, and could make any word.
        plain = "".join(self._unquoted)
        braces = _BRACES.search(plain) is not None
        assigns = _ASSIGNS.match(self._raw) is not None
        return Word(
            "".join(self._parts),
            open=self._open or braces or self._raw.startswith("~") or (assigns and "~" in plain),
            glob=self._glob,
            bare=not self._quoted,
            splits=self._splits or braces,
            assigns=assigns,
            subscript=_SUBSCRIPT.match(self._raw) is not None and "]" in self._raw and "=" in self._raw,
        )

    def add(self, node: Node) -> None:
        text = self._reader.text(node)
        match node.type:
            case "word" | "number" | "variable_name" | "test_operator" | "brace_expression" | "special_variable_name":
                self._plain(text)
            case "raw_string":
                if not _RAW.fullmatch(text):
                    raise _Unclear(NOT_UNDERSTOOD)
                self._parts.append(text[1:-1])
                self._quoted = True
            case "string":
                self._string(node, text)
            case "ansi_c_string":
                self._ansi(text)
            case "concatenation":
                self._whole(node, node.children)
                for child in node.children:
                    self.add(child)
            case _:
                self._put_in(node, text, quoted=False)

    def _plain(self, text: str) -> None:
        if not _PLAIN.fullmatch(text) or not all(char.isprintable() for char in text):
            raise _Unclear(JOINED_LINES if "\\\n" in text else NOT_UNDERSTOOD)
        if text.startswith("#") and not self._parts and self._raw.startswith("#"):
            raise _Unclear(NOT_UNDERSTOOD)
        at = 0
        while at < len(text):
            char = text[at]
            if char == "\\":
                if at + 1 >= len(text):
                    raise _Unclear(NOT_UNDERSTOOD)
                self._parts.append(text[at + 1])
                self._quoted, at = True, at + 2
                continue
            self._glob = self._glob or char in "*?["
            self._parts.append(char)
            self._unquoted.append(char)
            at += 1

    def _string(self, node: Node, text: str) -> None:
        """Inside double quotes: pieces of text, and what the shell puts in between them."""
        if len(text) < 2 or text[0] != '"' or text[-1] != '"':
            raise _Unclear(NOT_UNDERSTOOD)
        self._quoted = True
        at, stop = node.start_byte + 1, node.end_byte - 1
        for child in node.children:
            if child.type in ('"', "string_content", "$"):
                continue
            if self._reader.text(child)[1:2] in (" ", "\t", "\n"):
                continue  # the grammar takes `$ x` for a variable; to bash it is text
            self._content(at, child.start_byte)
            self._put_in(child, self._reader.text(child), quoted=True)
            at = child.end_byte
        self._content(at, stop)

    def _content(self, start: int, stop: int) -> None:
        source = self._reader.source
        text = source[start:stop].decode()
        if "\\\n" in text:
            raise _Unclear(JOINED_LINES)
        match = _DOUBLE.match(text + source[stop : stop + 1].decode("ascii", "replace"))
        if match is None or match.end() < len(text):
            raise _Unclear(NOT_UNDERSTOOD)
        self._parts.append(re.sub(r'\\([$`"\\])', r"\1", text))

    def _ansi(self, text: str) -> None:
        """`$'…'` with its escapes; a numeric one is unclear."""
        match = _ANSI_TEXT.fullmatch(text)
        if match is None:
            raise _Unclear(NOT_UNDERSTOOD)
        self._quoted = True

        def plain(escape: re.Match[str]) -> str:
            letter = escape.group(1)
            if letter in _ANSI_SELF:
                return letter
            if letter not in _ANSI:
                raise _Unclear(NUMERIC_ESCAPE)
            return _ANSI[letter]

        self._parts.append(re.sub(r"\\(.)", plain, match.group(1), flags=re.DOTALL))

    def _put_in(self, node: Node, text: str, *, quoted: bool) -> None:
        """What the shell fills in. Its source stays in the word."""
        self._open = True
        self._splits = self._splits or not quoted or "@" in text
        self._parts.append(text)
        match node.type:
            case "simple_expansion":
                if not _VARIABLE.fullmatch(text):
                    raise _Unclear(NOT_UNDERSTOOD)
            case "expansion":
                if "$(" in text or "`" in text:
                    raise _Unclear(SUBSTITUTION)
                if not _BRACED.fullmatch(text):
                    raise _Unclear(EXPANSION)
            case "command_substitution" | "arithmetic_expansion" | "process_substitution":
                self._reader.substitution(node)
            case _:
                raise _Unclear(NOT_UNDERSTOOD)

    def _whole(self, node: Node, children: list[Node]) -> None:
        """Nothing stands between the pieces of a word."""
        at = node.start_byte
        for child in children:
            if child.start_byte != at or child.type not in WORDS:
                raise _Unclear(NOT_UNDERSTOOD)
            at = child.end_byte
        if at != node.end_byte:
            raise _Unclear(NOT_UNDERSTOOD)
