"""Reads command lines as bash would: simple commands, their words and redirects, and what stands between them. Pure;
nothing is run.

The tree of `grammar` is flattened into the tokens that bash would see, and only kinds of nodes on a list are taken:
lists (`;`, `&`, `&&`, `||`, newline), pipelines, quotes, redirects, here-documents, groups and subshells. Every
character must belong to a token or be a blank between two. What goes beyond that is named in `Reading.unclear`, and no
rule may cover such a command. Commands inside what is not taken are read too, so that a deny rule finds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from agent_core.agent.approvals.grammar import Unreadable, parse
from agent_core.agent.approvals.words import JOINED_LINES, NOT_UNDERSTOOD, SUBSTITUTION, WORDS, Word, WordReader

if TYPE_CHECKING:
    from agent_core.agent.approvals.grammar import Node

COMPOUND = "a compound statement"
FUNCTION = "a function definition"
SUBSCRIPT = "a subscript, which the shell evaluates"
CONTROLS = "control characters"
TOO_LONG = "a command too long to read"
HERE_DOCUMENT = "a here-document that is not understood"
UNREAD = frozenset({COMPOUND, FUNCTION, SUBSCRIPT, CONTROLS, TOO_LONG, HERE_DOCUMENT, NOT_UNDERSTOOD, JOINED_LINES})
"""Where one of these is noted, `segments` and `inner` may not be all that runs."""

_GROUPS = frozenset({"list", "pipeline", "redirected_statement", "command", "command_name", "subshell",
                     "compound_statement", "negated_command", "file_redirect", "herestring_redirect",
                     "heredoc_redirect", "variable_assignments", "declaration_command", "unset_command"})  # fmt: skip
"""Kinds of nodes that only hold others."""
_OPERATORS = frozenset({";", "&", "&&", "||", "|", "|&", "\n"})
_BRACKETS = frozenset({"(", ")", "{", "}", "!"})
_ENDS = {"{": (b" ", b"\t", b"\n"), "!": (b" ", b"\t"),
         "}": (b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"<", b">", b")")}  # fmt: skip
"""What must stand behind a bracket that is a word to bash."""
_REDIRECTS = frozenset({">", ">>", "<", "<>", ">|", ">&", "<&", "&>", "&>>", "<<<", "<<", "<<-", ">&-", "<&-"})
_KEYWORDS = frozenset({"export", "declare", "typeset", "readonly", "local", "unset"})
_TEST_WORDS = frozenset({"=", "==", "!=", "!", "-a", "-o"})
_COMPOUNDS = frozenset({"if_statement", "for_statement", "c_style_for_statement", "while_statement", "do_group",
                        "case_statement", "select_statement", "test_command"})  # fmt: skip
_RESERVED = frozenset({"if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
                       "select", "function", "coproc", "in", "[[", "]]", "{", "}", "!"})  # fmt: skip
_READ_INSIDE = frozenset({"command", "declaration_command", "unset_command", "test_command"})
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_BLANKS = re.compile(rb"(?:[ \t]|\\\n)*")
_DELIMITER = re.compile(r"\w+|'\w+'|\"\w+\"|\\\w+", re.ASCII)
_LIVE = re.compile(r"`|\$[({\[]|\$$")
_DESCRIPTOR_NAME = re.compile(r"\{[A-Za-z_]\w*\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=", re.ASCII)
_MAX_DEPTH = 120


class Redirect(msgspec.Struct, frozen=True):
    """`operator` as written, without the number of the descriptor. `body`: the text of a here-document or -string."""

    operator: str
    target: Word
    body: str | None = None


class Segment(msgspec.Struct, frozen=True):
    """One simple command: `words`, after the assignments before its program."""

    settings: tuple[Word, ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()

    @property
    def argv(self) -> tuple[str, ...]:
        return tuple(word.text for word in (*self.settings, *self.words))


class Reading(msgspec.Struct, frozen=True):
    """A command line. `shape`: its segments with the operators and brackets between them. `inner` are the commands
    inside substitutions and statements that are not taken; `unclear` says, each once, what no rule covers."""

    shape: tuple[Segment | str, ...] = ()
    inner: tuple[Segment, ...] = ()
    unclear: tuple[str, ...] = ()

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(item for item in self.shape if isinstance(item, Segment))


def read_shell(text: str) -> Reading:
    """Never raises; what can't be read is unclear, with the commands that were found in it."""
    if _CONTROLS.search(text):
        return Reading(unclear=(CONTROLS,))
    try:
        root, source = parse(text)
    except Unreadable:
        return Reading(unclear=(TOO_LONG,))
    except UnicodeEncodeError:
        return Reading(unclear=(CONTROLS,))
    flat = _Flat(source)
    if root.has_error:
        flat.note(NOT_UNDERSTOOD)
        flat.inside(root)
        return Reading((), tuple(flat.inner), tuple(flat.unclear))
    for statement in root.children:
        flat.visit(statement)
    flat.end()
    return Reading(tuple(flat.shape), tuple(flat.inner), tuple(flat.unclear))


class _Flat:
    """Walks the tree in the order of the text and cuts it into segments. `at`: the byte up to which it is read."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self.shape: list[Segment | str] = []
        self.inner: list[Segment] = []
        self.unclear: dict[str, None] = {}
        self._reader = WordReader(source, self.note, self.inside)
        self._words: list[Word] = []
        self._redirects: list[Redirect] = []
        self._operator = ""
        """A redirect that waits for its target."""
        self._led = False
        """Whether a redirect stands before the first word, which then is no word of the shell."""
        self._document: Node | None = None
        """The start of the here-document whose text comes on the next line."""
        self._at = self._depth = 0
        self._touching = False
        """What was read last is a word: another one may only come after a blank."""

    def note(self, reason: str) -> None:
        self.unclear[reason] = None

    def visit(self, node: Node) -> None:
        if self._depth > _MAX_DEPTH:
            self.note(TOO_LONG)
            return
        self._depth += 1
        kind = node.type
        if kind == "test_command" and node.child_count and node.children[0].type == "[":
            self._test(node)
        elif kind == "compound_statement" and node.child_count and node.children[0].type != "{":
            self._refuse(node, COMPOUND)
        elif kind in _GROUPS and node.child_count:
            for child in node.children:
                self.visit(child)
        elif kind in WORDS:
            self._word(node)
        elif kind == "variable_assignment":
            self._assignment(node)
        elif kind == "heredoc_start":
            self._announce(node)
        elif kind == "heredoc_body":
            self._body(node)
        elif kind == "heredoc_end":
            pass
        elif kind == "comment":
            self._comment(node)
        elif kind == "file_descriptor":
            self._descriptor(node)
        elif not node.is_named and node.end_byte > node.start_byte:
            self._token(node)
        elif kind == "function_definition":
            self._refuse(node, FUNCTION)
        else:
            self._refuse(node, COMPOUND if kind in _COMPOUNDS else NOT_UNDERSTOOD)
        self._depth -= 1

    def end(self) -> None:
        self._gap_to(len(self._source))
        self._close()
        if self._document is not None:
            self.note(HERE_DOCUMENT)

    def inside(self, node: Node) -> None:
        """Collect the commands anywhere in a node that is not taken. Lenient: for deny rules."""
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if each.type in _READ_INSIDE:
                words = tuple(self._loose(each))
                count = next((at for at, word in enumerate(words) if not word.assigns), len(words))
                self.inner.append(Segment(words[:count], words[count:]))
            waiting += reversed(each.children)

    def _loose(self, node: Node) -> Iterator[Word]:
        silent = WordReader(self._source, lambda reason: None, lambda inner: None)
        for child in node.children:
            if child.type == "command_name":
                yield from self._loose(child)
            elif child.type in WORDS or child.type == "variable_assignment":
                yield silent.read(child) if child.type in WORDS else Word(silent.text(child), assigns=True)
            elif child.type in _KEYWORDS:
                yield Word(child.type)

    def _refuse(self, node: Node, reason: str) -> None:
        self.note(reason)
        self.inside(node)
        self._at, self._touching = node.end_byte, False

    # What stands between tokens

    def _gap(self, node: Node) -> bool:
        """Read up to the node; True if a blank or newline stands before it."""
        before = self._at
        self._gap_to(node.start_byte)
        self._at = node.end_byte
        return node.start_byte > before

    def _gap_to(self, stop: int) -> None:
        gap = self._source[self._at : stop]
        if stop < self._at:
            self.note(NOT_UNDERSTOOD)
        for line in gap.replace(b"\\\n", b"\x00").split(b"\n"):
            if not _BLANKS.fullmatch(line.replace(b"\x00", b"\\\n")):
                self.note(NOT_UNDERSTOOD)
        if gap and not gap.replace(b"\\\n", b""):
            self.note(JOINED_LINES)  # bash joins what stands on both sides
        if b"\n" in gap.replace(b"\\\n", b""):
            self._touching = False
            self._separate("\n")
        self._touching = self._touching and not gap

    # Tokens

    def _descriptor(self, node: Node) -> None:
        blank = self._gap(node)
        touched = self._touching and not blank
        if (
            touched
            or not self._reader.text(node).isdigit()
            or self._source[self._at : self._at + 1] not in (b"<", b">")
        ):
            self.note(NOT_UNDERSTOOD)
        self._touching = False

    def _token(self, node: Node) -> None:
        kind = node.type
        blank = self._gap(node)
        number = not blank and self._touching and self._words and self._words[-1].text.isdigit()
        self._touching = False
        if kind in _REDIRECTS:
            if self._operator or number:
                self.note(NOT_UNDERSTOOD)
            if kind in (">&-", "<&-"):
                self._redirects.append(Redirect(kind[:2], Word("-")))
            else:
                self._operator = kind
        elif kind in _OPERATORS:
            self._separate(kind)
        elif kind in _BRACKETS:
            follows = self._source[self._at : self._at + 1]
            if (kind in "({!" and (self._words or self._redirects)) or (kind in "{}!" and follows not in _ENDS[kind]):
                self.note(NOT_UNDERSTOOD)
            self._separate(kind)
        elif kind in _KEYWORDS:
            self._words.append(Word(kind))
            self._touching = True
        else:
            self._refuse(node, NOT_UNDERSTOOD)

    def _separate(self, operator: str) -> None:
        self._close()
        if operator != "\n" or (self.shape and self.shape[-1] != "\n"):
            self.shape.append(operator)

    def _close(self) -> None:
        if self._operator:
            self.note(NOT_UNDERSTOOD)
            self._operator = ""
        if not self._words and not self._redirects:
            return
        words = self._words
        piped = next((item for item in reversed(self.shape) if item != "\n"), "") in ("|", "|&")
        while words and words[0].bare and words[0].text == "time" and not self._led and not piped:
            options = [word.text for word in words[1:] if word.text.startswith("-")][:1]
            if options not in ([], ["-p"]) and words[1].text.startswith("-"):
                break  # a program of that name, as `-p` is all that the word of the shell knows
            words = words[2:] if words[1:] and words[1].text == "-p" else words[1:]
            self.shape.append("time")
        count = next((at for at, word in enumerate(words) if not (word.assigns or word.subscript)), len(words))
        if any(word.subscript for word in words[:count]):
            self.note(SUBSCRIPT)
        program = words[count] if count < len(words) else None
        if program is not None and program.bare and program.text in _RESERVED:
            self.note(COMPOUND)
        if words or self._redirects:
            self.shape.append(Segment(tuple(words[:count]), tuple(words[count:]), tuple(self._redirects)))
        self._words, self._redirects = [], []

    def _word(self, node: Node) -> None:
        blank = self._gap(node)
        if self._touching and not blank:
            self.note(NOT_UNDERSTOOD)
        self._take(self._reader.read(node))

    def _take(self, word: Word) -> None:
        self._touching = True
        if not self._operator:
            self._led = bool(self._redirects) if not self._words else self._led
            self._words.append(word)
            return
        if self._words and self._words[-1].bare and _DESCRIPTOR_NAME.fullmatch(self._words[-1].text):
            self.note(NOT_UNDERSTOOD)  # `{name}>file` sets a variable
        body = word.text if self._operator == "<<<" else None
        self._redirects.append(Redirect(self._operator, word, body))
        self._operator = ""

    def _assignment(self, node: Node) -> None:
        children = node.children
        text = self._reader.text(node)
        blank = self._gap(node)
        if (self._touching and not blank) or len(children) not in (2, 3) or children[1].type not in ("=", "+="):
            self.note(NOT_UNDERSTOOD)
        value = children[2] if len(children) == 3 else None
        if children[0].type != "variable_name" or (value is not None and value.type not in WORDS):
            self.note(SUBSCRIPT)
            self.inside(node)
            self._take(Word(text, open=True, assigns=True))
            return
        name = text[: children[1].end_byte - node.start_byte]
        if not _NAME.fullmatch(name):
            self.note(NOT_UNDERSTOOD)  # to bash it is a program
        if value is not None and value.start_byte != children[1].end_byte:
            self.note(NOT_UNDERSTOOD)
        read = Word("") if value is None else self._reader.read(value)
        opened = read.open or (value is not None and "~" in self._reader.text(value))
        self._take(msgspec.structs.replace(read, text=name + read.text, open=opened, bare=False, assigns=True))

    def _comment(self, node: Node) -> None:
        before = self._source[: node.start_byte][-1:]
        text = self._reader.text(node)
        self._gap(node)
        if not text.startswith("#") or "\n" in text or before not in (b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"("):
            self.note(NOT_UNDERSTOOD)
        self._touching = False

    def _test(self, node: Node) -> None:
        """`[ … ]` is a command like others; only plain words may stand in it."""
        leaves = [node]
        words: list[Node] = []
        while leaves:
            each = leaves.pop()
            if each.type in WORDS or each.type in _TEST_WORDS or each.type in ("[", "]"):
                words.append(each)
            elif each.type in ("test_command", "unary_expression", "binary_expression", "negated_expression"):
                leaves += reversed(each.children)
            else:
                self._refuse(node, COMPOUND)
                return
        for word in words:
            if word.type in WORDS:
                self._word(word)
            else:
                blank = self._gap(word)
                if self._touching and not blank:
                    self.note(NOT_UNDERSTOOD)
                self._take(Word(word.type))

    # Here-documents

    def _announce(self, node: Node) -> None:
        self._gap(node)
        text = self._reader.text(node)
        if self._document is not None or self._operator not in ("<<", "<<-") or not _DELIMITER.fullmatch(text):
            self.note(HERE_DOCUMENT)
        delimiter = text.strip("'\"\\")
        self._redirects.append(Redirect(self._operator, Word(delimiter, bare=text == delimiter)))
        self._document, self._operator, self._touching = node, "", True

    def _body(self, node: Node) -> None:
        """The text of the here-document, found as bash would: from the next line on to the line of the delimiter."""
        start = self._document
        tail = node.parent.children[-1] if node.parent is not None else node
        self._gap_to(node.start_byte)
        if start is None or tail.type != "heredoc_end":
            self.note(HERE_DOCUMENT)
            self.inside(node)
            self._at = max(self._at, node.end_byte)
            return
        self._document = None
        written = self._reader.text(start)
        delimiter, expands = written.strip("'\"\\"), written[0] not in "'\"\\"
        begin = self._source.rfind(b"\n", 0, node.start_byte) + 1
        lines, end = self._lines(begin, delimiter, self._tabs(delimiter))
        body = "\n".join(lines)
        self._at, self._touching = tail.end_byte, False
        if end != tail.end_byte or self._source[begin : node.start_byte].strip(b"\t"):
            self.note(HERE_DOCUMENT)
        if expands and any(line.endswith("\\") for line in lines):
            self.note(HERE_DOCUMENT)  # the shell joins such lines before it looks for the end
        if expands and _LIVE.search(body):
            self.note(SUBSTITUTION)
            self.inside(node)
        self._put_body(delimiter, body)

    def _tabs(self, delimiter: str) -> bool:
        return any(r.operator == "<<-" and r.target.text == delimiter for r in self._all_redirects())

    def _all_redirects(self) -> Iterator[Redirect]:
        for segment in self.shape:
            if isinstance(segment, Segment):
                yield from segment.redirects
        yield from self._redirects

    def _lines(self, at: int, delimiter: str, tabs: bool) -> tuple[list[str], int]:
        """Lines of the document, and the byte at which the line that ends it ends (-1 if there is none)."""
        lines: list[str] = []
        while at <= len(self._source):
            stop = self._source.find(b"\n", at)
            stop = len(self._source) if stop < 0 else stop
            line = self._source[at:stop].decode()
            if (line.lstrip("\t") if tabs else line) == delimiter:
                return lines, stop
            lines.append(line)
            at = stop + 1
        return lines, -1

    def _put_body(self, delimiter: str, body: str) -> None:
        for place in range(len(self.shape) - 1, -1, -1):
            segment = self.shape[place]
            if not isinstance(segment, Segment):
                continue
            redirects = [
                msgspec.structs.replace(each, body=body)
                if each.body is None and each.operator in ("<<", "<<-") and each.target.text == delimiter
                else each
                for each in segment.redirects
            ]
            if redirects != list(segment.redirects):
                self.shape[place] = msgspec.structs.replace(segment, redirects=tuple(redirects))
                return
