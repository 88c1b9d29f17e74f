"""A short text that a Lark grammar accepts: how the scripted engine fills a custom tool's input.

Reads the EBNF of Lark's grammar reference: rules, terminals, `|`, groups, `[ ]`, `? * +`, `~ n..m`, strings, regular
expressions, ranges, `%import common.X`, `%ignore`, `%declare`. Templates, and imports from elsewhere, are not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from agent_core.errors import EngineError
from agent_core.responses_server.engines.scripted.pattern_text import pattern_text

_COMMON = {
    "DIGIT": "0",
    "HEXDIGIT": "0",
    "INT": "0",
    "SIGNED_INT": "0",
    "DECIMAL": "0.0",
    "FLOAT": "0.0",
    "SIGNED_FLOAT": "0.0",
    "NUMBER": "0",
    "SIGNED_NUMBER": "0",
    "ESCAPED_STRING": '""',
    "LCASE_LETTER": "a",
    "UCASE_LETTER": "A",
    "LETTER": "a",
    "WORD": "a",
    "CNAME": "a",
    "WS_INLINE": " ",
    "WS": " ",
    "CR": "\r",
    "LF": "\n",
    "NEWLINE": "\n",
    "SH_COMMENT": "#",
    "CPP_COMMENT": "//",
    "C_COMMENT": "/**/",
    "SQL_COMMENT": "--",
}
"""Lark's `common.lark`, by example."""

_TOKEN = re.compile(
    r"""(?P<space>[ \t\f\r]+|(?://|\#)[^\n]*|\\\n)
    |(?P<line>\n\s*)
    |(?P<string>"(?:\\.|[^"\\\n])*"i?)
    |(?P<regexp>/(?!/)(?:\\.|[^/\\\n])+/[imslux]*)
    |(?P<dots>\.\.)
    |(?P<number>[0-9]+)
    |(?P<directive>%[a-z]+)
    |(?P<arrow>->)
    |(?P<name>[!?]*_?[A-Za-z][A-Za-z0-9_]*)
    |(?P<mark>[|:()\[\]?*+~.,{}])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_LONGEST = 100_000
"""Characters and pieces of what is derived."""
_MOST_DERIVED = 1_000_000
"""Looks at a text, a rule or a piece: about a second at most, beside others."""


class _Token(NamedTuple):
    kind: str
    text: str


class _Repeat(NamedTuple):
    node: _Node
    times: int


class _Choice(NamedTuple):
    sequences: list[list[_Node]]


_Node = str | _Choice | _Repeat
"""A text in quotes (`"x`), the name of a rule or terminal, a choice, or a repeat."""


def lark_text(definition: str) -> str:
    """The shortest text that the rule `start` derives. Raises EngineError (`grammar_unreadable`)."""
    try:
        grammar = _Reader(definition)
        best = _shortest(grammar.rules)
        ignores_space = any(_is_space(_derive(ignored, best)) for ignored in grammar.ignored)
    except RecursionError:
        raise _unreadable("it is nested too deeply") from None
    if best.get("start") is None:
        raise _unreadable("it derives nothing from 'start'")
    return _join(best["start"] or [], " " if ignores_space else "")


def _unreadable(why: str) -> EngineError:
    return EngineError(f"The grammar of the tool can't be used: {why}.", code="grammar_unreadable")


class _Reader:
    """Parses a grammar into `rules`. `ignored`: what may stand between terminals."""

    def __init__(self, definition: str) -> None:
        self.rules: dict[str, _Node] = {name: f'"{text}' for name, text in _COMMON.items()}
        self.ignored: list[_Node] = []
        self._tokens = _tokens(definition)
        self._at = 0
        while self._peek().kind != "end":
            self._statement()

    def _statement(self) -> None:
        token = self._next()
        if token.kind == "line":
            return
        if token.kind == "directive":
            self._directive(token.text)
            return
        if token.kind != "name":
            raise _unreadable(f"unexpected {token.text[:20]!r}")
        if self._peek().text == ".":
            self._next()
            self._next()
        if self._next().text != ":":
            raise _unreadable("templates are not known here")
        self.rules[token.text.lstrip("!?")] = self._choice()

    def _directive(self, name: str) -> None:
        if name == "%ignore":
            self.ignored.append(self._choice())
            return
        words = []
        while self._peek().kind not in ("line", "end"):
            words.append(self._next().text)
        if name == "%import":
            self._imported(words)
        elif name not in ("%declare", "%override", "%extend"):
            raise _unreadable(f"{name} is not known here")

    def _imported(self, words: list[str]) -> None:
        if words[:2] != ["common", "."] and words[:1] != ["common"]:
            raise _unreadable("it imports from another grammar")
        names = [word for word in words[1:] if word not in (".", "(", ")", ",")]
        if "->" in names:
            self.rules[names[-1]] = names[0]
        for name in names:
            if name != "->" and name not in self.rules:
                raise _unreadable(f"common.{name[:40]} is not known here")

    def _choice(self) -> _Node:
        sequences = [self._sequence()]
        while True:
            mark = self._at
            while self._peek().kind == "line":
                self._next()
            if self._peek().text != "|":
                self._at = mark
                return _Choice(sequences)
            self._next()
            sequences.append(self._sequence())

    def _sequence(self) -> list[_Node]:
        nodes: list[_Node] = []
        while True:
            token = self._peek()
            if token.kind == "arrow":
                self._next()
                self._next()
            elif token.kind in ("string", "regexp", "name") or token.text in ("(", "["):
                nodes.append(self._expression())
            else:
                return nodes

    def _expression(self) -> _Node:
        node = self._atom()
        sign = self._peek().text
        if sign in ("?", "*"):
            self._next()
            return _Repeat(node, 0)
        if sign == "+":
            self._next()
        elif sign == "~":
            self._next()
            count = self._next().text
            if not count.isdigit() or len(count) > 6:
                raise _unreadable("a repeat without a number")
            times = int(count)
            if self._peek().kind == "dots":
                self._next()
                self._next()
            return _Repeat(node, times)
        return node

    def _atom(self) -> _Node:
        token = self._next()
        if token.text in ("(", "["):
            inner = self._inside(")" if token.text == "(" else "]")
            return inner if token.text == "(" else _Repeat(inner, 0)
        if token.kind == "string":
            if self._peek().kind == "dots":
                self._next()
                self._next()
            return '"' + _ESCAPE.sub(_unescaped, token.text[1 : token.text.rindex('"')])
        if token.kind == "regexp":
            return '"' + pattern_text(token.text[1 : token.text.rindex("/")].replace(r"\/", "/"))
        return token.text.lstrip("!?")

    def _inside(self, closing: str) -> _Node:
        self._skip_lines()
        inner = self._choice()
        self._skip_lines()
        if self._next().text != closing:
            raise _unreadable(f"a {closing!r} is missing")
        return inner

    def _skip_lines(self) -> None:
        while self._peek().kind == "line":
            self._next()

    def _peek(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _Token("end", "")

    def _next(self) -> _Token:
        token = self._peek()
        self._at += 1
        return token


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPED.get(code, code)


def _tokens(definition: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while at < len(definition):
        found = _TOKEN.match(definition, at)
        if found is None:
            raise _unreadable(f"it can't be read at {definition[at : at + 20]!r}")
        at = found.end()
        if found.lastgroup != "space":
            tokens.append(_Token(found.lastgroup or "", found.group()))
    return tokens


def _shortest(rules: dict[str, _Node]) -> dict[str, list[str] | None]:
    """The shortest derivation of every rule as its pieces, by fixpoint; rules that derive nothing are absent.

    A rule is derived anew when one that it names became shorter. Raises EngineError if that takes more than
    `_MOST_DERIVED`.
    """
    best: dict[str, list[str] | None] = {}
    atoms = {name: list(_atoms(node)) for name, node in rules.items()}
    users: dict[str, list[str]] = {}
    for name, inside in atoms.items():
        for one in dict.fromkeys(inside):
            users.setdefault(one, []).append(name)
    waiting, left = dict.fromkeys(reversed(rules)), _MOST_DERIVED
    while waiting:
        again: dict[str, None] = {}
        for name in waiting:
            pieces = _derive(rules[name], best)
            left -= 1 + len(atoms[name]) + len(pieces or ())
            if left < 0:
                raise _unreadable("it takes too long to derive something")
            if pieces is not None and (best.get(name) is None or _size(pieces) < _size(best[name] or [])):
                best[name] = pieces
                again.update(dict.fromkeys(users.get(name, ())))
        waiting = again
    return best


def _atoms(node: _Node) -> Iterator[str]:
    """The texts, rules and terminals that a node holds."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, _Repeat):
        yield from _atoms(node.node)
    else:
        for sequence in node.sequences:
            for one in sequence:
                yield from _atoms(one)


def _is_space(pieces: list[str] | None) -> bool:
    return "".join(pieces or ()).isspace()


def _derive(node: _Node, best: dict[str, list[str] | None]) -> list[str] | None:
    if isinstance(node, str):
        return [node[1:]] if node.startswith('"') else best.get(node)
    if isinstance(node, _Repeat):
        inner = _derive(node.node, best) if node.times else []
        if inner is None or (_size(inner) + len(inner)) * node.times > _LONGEST:
            return None
        return inner * node.times
    derived = [_derive_all(sequence, best) for sequence in node.sequences]
    return min((pieces for pieces in derived if pieces is not None), key=_size, default=None)


def _derive_all(sequence: list[_Node], best: dict[str, list[str] | None]) -> list[str] | None:
    pieces: list[str] = []
    left = _LONGEST
    for node in sequence:
        found = _derive(node, best)
        left -= _size(found or []) + len(found or ())
        if found is None or left < 0:
            return None
        pieces += found
    return pieces


def _size(pieces: list[str]) -> int:
    return sum(map(len, pieces))


def _join(pieces: list[str], space: str) -> str:
    """The pieces one after the other, kept apart where they would run together."""
    text = ""
    for piece in pieces:
        apart = space and text and piece and _is_word(text[-1]) and _is_word(piece[0])
        text += (space if apart else "") + piece
    return text


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"
