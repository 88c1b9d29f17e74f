"""Reads command lines as bash would: segments of words and what stands between them. Pure; nothing is run.

A subset of the grammar of bash(1): lists (`;`, `&`, `&&`, `||`, newline), pipelines, quotes, redirections,
here-documents, groups and subshells. What goes beyond it is named in `Script.unclear`, and no rule may cover such a
command. Commands inside substitutions are read too, so that a deny rule finds them.
"""

from __future__ import annotations

import re

import msgspec

_BREAKS = frozenset(" \t\n;&|<>()")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=")
_SUBSCRIPT = re.compile(r"[A-Za-z_]\w*\[")
_BRACES = re.compile(r"\{[^{}]*(,|\.\.)")
_REDIRECT = re.compile(r"(\d*|\{[A-Za-z_]\w*\})(&>>|&>|<<<|<<-|<<|<>|<&|<|>>|>\||>&|>)")
_SEPARATOR = re.compile(r"&&|\|\||\|&|;;&|;;|;&|[;&|\n]")
_COMPOUND = frozenset(
    [
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "select",
        "function",
        "coproc",
        "in",
        "[[",
    ]
)
_TRANSPARENT = frozenset({"!", "{", "}", "time"})
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_MAX_DEPTH = 20
MAX_CHARACTERS = 100_000

SUBSTITUTION = "command substitution"
PROCESS_SUBSTITUTION = "process substitution"
COMPOUND = "a compound statement"
FUNCTION = "a function definition"
PARTS = "quotes or brackets that do not close"
TOO_LONG = "a command too long to read"


class Word(msgspec.Struct, frozen=True):
    """A word without its quotes. `open`: the shell puts something into it that can't be known from here (a variable,
    braces). `glob`: it may stand for names of files. `bare`: nothing of it was quoted."""

    text: str
    open: bool = False
    glob: bool = False
    bare: bool = True


class Redirect(msgspec.Struct, frozen=True):
    """`operator` as written, without the number of the descriptor. `body`: the text of a here-document or -string."""

    operator: str
    target: Word
    body: str | None = None


class Segment(msgspec.Struct, frozen=True):
    """One simple command. `after` is the operator behind it, "" at the end."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    after: str = ""

    @property
    def argv(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words)


class Script(msgspec.Struct, frozen=True):
    """A command line. `inner` are the commands inside substitutions; `unclear` says, each once, what no rule covers."""

    segments: tuple[Segment, ...]
    inner: tuple[Segment, ...] = ()
    unclear: tuple[str, ...] = ()


class _Unread(Exception):
    """The text ends inside a quote or bracket."""


def read_script(text: str, depth: int = 0) -> Script:
    """Never raises; what can't be read to its end is unclear, with the segments up to there."""
    if len(text) > MAX_CHARACTERS or depth > _MAX_DEPTH:
        return Script((), (), (TOO_LONG,))
    reader = _Reader(text, depth)
    try:
        reader.read("")
    except _Unread:
        reader.note(PARTS)
    return reader.script()


def is_assignment(word: Word) -> bool:
    """Whether the word sets a variable where it stands before a program."""
    return _ASSIGNMENT.match(word.text) is not None


class _Reader:
    def __init__(self, text: str, depth: int) -> None:
        self._text, self._at, self._depth = text, 0, depth
        self._segments: list[Segment] = []
        self._inner: list[Segment] = []
        self._unclear: dict[str, None] = {}
        self._words: list[Word] = []
        self._redirects: list[Redirect] = []
        self._waiting: list[tuple[int, str, bool, bool]] = []
        self._timed = False

    def note(self, reason: str) -> None:
        self._unclear[reason] = None

    def script(self) -> Script:
        if self._words or self._redirects:
            self._end_segment("")
        return Script(tuple(self._segments), tuple(self._inner), tuple(self._unclear))

    def read(self, end: str) -> None:
        """Read segments up to the bracket `end`, or the end of the text for ""."""
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            if char in " \t" or text.startswith("\\\n", self._at):
                self._at += 1 if char in " \t" else 2
            elif char == "#":
                stop = text.find("\n", self._at)
                self._at = len(text) if stop < 0 else stop
            elif char == ")":
                if end != ")":
                    raise _Unread
                self._at += 1
                self._end_segment("")
                return
            elif char == "(":
                self._bracket()
            elif text[self._at : self._at + 2] in ("<(", ">("):
                self.note(PROCESS_SUBSTITUTION)
                self._at += 2
                self._substitution()
                self._words.append(Word("<(…)", open=True))
            elif match := _REDIRECT.match(text, self._at):
                self._redirect(match)
            elif match := _SEPARATOR.match(text, self._at):
                self._at = match.end()
                self._end_segment(match.group())
                if match.group() == "\n":
                    self._bodies()
                if match.group().startswith(";;") or match.group() == ";&":
                    self.note(COMPOUND)
            else:
                self._add(self._word())
        if end:
            raise _Unread
        self._bodies()

    def _bracket(self) -> None:
        """`(` where a command may stand is a subshell; behind a word it defines a function, or is an array."""
        self._at += 1
        if self._words:
            self.note(FUNCTION)
        elif self._text.startswith("(", self._at):
            self.note(COMPOUND)
        deeper = self._nested(self._at)
        self._segments += deeper._segments
        self._end_segment("")

    def _nested(self, at: int) -> _Reader:
        """Read up to the closing bracket with a reader of its own, and take over where it stopped and what it noted."""
        if self._depth >= _MAX_DEPTH:
            raise _Unread
        inner = _Reader(self._text, self._depth + 1)
        inner._at = at
        try:
            inner.read(")")
        finally:
            self._at = inner._at
            self._inner += inner._inner
            self._unclear |= inner._unclear
        return inner

    def _substitution(self) -> None:
        inner = self._nested(self._at)
        self._inner += inner._segments

    def _add(self, word: Word) -> None:
        if not self._words and word.bare and not word.open:
            if word.text in _COMPOUND:
                self.note(COMPOUND)
                return
            if word.text in _TRANSPARENT or (self._timed and word.text == "-p"):
                self._timed = word.text == "time"
                return
            if _SUBSCRIPT.match(word.text):
                self.note(COMPOUND)
        self._words.append(word)

    def _end_segment(self, operator: str) -> None:
        if self._words or self._redirects:
            self._segments.append(Segment(tuple(self._words), tuple(self._redirects), operator))
        self._words, self._redirects = [], []

    def _redirect(self, match: re.Match[str]) -> None:
        operator = match.group(2)
        self._at = match.end()
        self._skip_blanks()
        if self._text[self._at : self._at + 2] in ("<(", ">("):
            self.note(PROCESS_SUBSTITUTION)
            self._at += 2
            self._substitution()
            self._redirects.append(Redirect(operator, Word("<(…)", open=True)))
            return
        if self._at >= len(self._text) or self._text[self._at] in _BREAKS:
            raise _Unread
        word = self._word()
        if operator in ("<<", "<<-"):
            self._waiting.append((len(self._redirects), word.text, operator == "<<-", word.bare))
        self._redirects.append(Redirect(operator, word, word.text if operator == "<<<" else None))

    def _bodies(self) -> None:
        """Take the here-documents that were announced on the line before. Their segment has ended already."""
        for index, delimiter, tabs, expands in self._waiting:
            lines: list[str] = []
            while self._at < len(self._text):
                stop = self._text.find("\n", self._at)
                line = self._text[self._at :] if stop < 0 else self._text[self._at : stop]
                self._at = len(self._text) if stop < 0 else stop + 1
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
                lines.append(line)
            body = "\n".join(lines)
            if expands and ("$(" in body or "`" in body):
                self.note(SUBSTITUTION)
            if expands and any(line.endswith("\\") for line in lines):
                self.note(PARTS)  # the shell joins such lines before it looks for the end
            self._put_body(index, delimiter, body)
        self._waiting.clear()

    def _put_body(self, index: int, delimiter: str, body: str) -> None:
        for place in range(len(self._segments) - 1, -1, -1):
            redirects = list(self._segments[place].redirects)
            if index < len(redirects) and redirects[index].body is None and redirects[index].target.text == delimiter:
                redirects[index] = msgspec.structs.replace(redirects[index], body=body)
                self._segments[place] = msgspec.structs.replace(self._segments[place], redirects=tuple(redirects))
                return

    def _skip_blanks(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in " \t":
            self._at += 1

    def _word(self) -> Word:
        text = self._text
        parts: list[str] = []
        unquoted: list[str] = []
        opened = glob = quoted = False
        while self._at < len(text) and text[self._at] not in _BREAKS:
            char = text[self._at]
            if char == "\\":
                if text[self._at + 1 : self._at + 2] != "\n":
                    parts.append(text[self._at + 1 : self._at + 2])
                    quoted = True
                self._at += 2
            elif char == "'":
                stop = self._closing("'", self._at + 1)
                parts.append(text[self._at + 1 : stop])
                self._at, quoted = stop + 1, True
            elif char == '"':
                self._at += 1
                opened, quoted = self._double(parts) or opened, True
            elif text.startswith("$'", self._at):
                self._ansi(parts)
                quoted = True
            elif text.startswith('$"', self._at):
                self._at += 1
            elif char in "$`":
                opened = self._expansion(parts) or opened
            else:
                glob = glob or char in "*?["
                parts.append(char)
                unquoted.append(char)
                self._at += 1
        # Braces and the home folder are put in before anything else, and could make any word.
        plain = "".join(unquoted)
        opened = opened or _BRACES.search(plain) is not None or (plain.startswith("~") and parts[0] == "~")
        return Word("".join(parts), opened, glob, not quoted)

    def _closing(self, mark: str, at: int) -> int:
        stop = self._text.find(mark, at)
        if stop < 0:
            raise _Unread
        return stop

    def _double(self, parts: list[str]) -> bool:
        """Inside double quotes, up to the closing one. True if something is put in there."""
        text, opened = self._text, False
        while self._at < len(text):
            char = text[self._at]
            if char == '"':
                self._at += 1
                return opened
            if char == "\\" and text[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\", "\n"):
                parts.append(text[self._at + 1].replace("\n", ""))
                self._at += 2
            elif char in "$`":
                opened = self._expansion(parts) or opened
            else:
                parts.append(char)
                self._at += 1
        raise _Unread

    def _ansi(self, parts: list[str]) -> None:
        """`$'…'` with its escapes; a numeric one is unclear."""
        self._at += 2
        text = self._text
        while self._at < len(text) and text[self._at] != "'":
            char = text[self._at]
            if char == "\\":
                following = text[self._at + 1 : self._at + 2]
                if following.isdigit() or following in ("x", "u", "U", "c"):
                    self.note("a numeric escape")
                parts.append(_ANSI.get(following, following))
                self._at += 2
            else:
                parts.append(char)
                self._at += 1
        if self._at >= len(text):
            raise _Unread
        self._at += 1

    def _expansion(self, parts: list[str]) -> bool:
        """At `$` or a backquote. Its source stays in the word. True if something is put in there."""
        text, start = self._text, self._at
        if text[start] == "`":
            stop = start + 1
            while stop < len(text) and text[stop] != "`":
                stop += 2 if text[stop] == "\\" else 1
            if stop >= len(text):
                raise _Unread
            self.note(SUBSTITUTION)
            inner = read_script(re.sub(r"\\([\\`$])", r"\1", text[start + 1 : stop]), self._depth + 1)
            self._inner += [*inner.segments, *inner.inner]
            self._at = stop + 1
        elif text.startswith("$(", start):
            self.note(SUBSTITUTION)
            self._at += 2
            self._substitution()
        elif text.startswith("${", start):
            stop = self._closing("}", start)
            if "$(" in text[start:stop] or "`" in text[start:stop]:
                self.note(SUBSTITUTION)
            if "{" in text[start + 2 : stop]:
                self.note("nested expansion")
            self._at = stop + 1
        elif match := _NAME.match(text, start + 1):
            self._at = match.end()
        elif text[start + 1 : start + 2] and text[start + 1] in "0123456789?$!#@*-[":
            self._at += 2
        else:
            parts.append("$")
            self._at += 1
            return False
        parts.append(text[start : self._at])
        return True
