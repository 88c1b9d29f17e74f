"""Looking for a pattern in the files of a tree: plain, synchronous work with its bounds handed in."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping

import msgspec
from pathspec import GitIgnoreSpec

from agent_core.errors import ToolError
from agent_core.tools.workspace import disk, text
from agent_core.tools.workspace.walk import never, walk

MAX_LINE_CHARACTERS = 300
"""A longer line is shown cut, around its first match."""

LINES_PER_SLICE = 64

TIME_LIMIT = "time limit"
"""Why a search stopped that ran out of time."""

MAX_MATCHED_CHARACTERS = 2_000
"""Of a longer line (minified code) only so much is looked at."""


class Start(msgspec.Struct, frozen=True):
    """Where to look: a folder or one file. `top` is put before the shown paths ("" for the first root)."""

    root: str
    relative: str
    top: str
    is_file: bool


class Limits(msgspec.Struct, frozen=True):
    hits: int = 200
    output_characters: int = 32_000
    file_bytes: int = 4_000_000


class Query(msgspec.Struct, frozen=True):
    """What to look for. `literal`: `pattern` is plain text. `globs` empty: all files.

    `needle` is a text that every hit holds, "" for none: files without it need no closer look.
    """

    pattern: str
    literal: bool
    globs: tuple[str, ...] = ()
    needle: str = ""


class Hit(msgspec.Struct, frozen=True):
    path: str
    line: int
    text: str


class Found(msgspec.Struct):
    """`stopped` says why there may be more, "" if everything was looked at."""

    hits: list[Hit] = msgspec.field(default_factory=list)
    files: int = 0
    secret_files: int = 0
    stopped: str = ""


class Bounds(msgspec.Struct, frozen=True):
    """`tick` may raise to give up; `late` is true after the time limit."""

    tick: Callable[[], None]
    late: Callable[[], bool]
    is_secret: Callable[[str], bool]
    buffers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Texts of open buffers by absolute path; they stand in for what is on disk."""
    on_hit: Callable[[Hit], None] = lambda hit: None
    closes: Callable[[str, str, bool], bool] = never
    """What is left out beside what ignore files name, by root, path and whether it is a folder."""


def scan(
    query: Query, starts: list[Start], limits: Limits, bounds: Bounds, only: list[list[str]] | None = None
) -> Found:
    """All hits in walking order. `only`: per start, the files to look at, in walking order; None: all of them."""
    running = _Scan(query, limits, bounds)
    for index, start in enumerate(starts):
        files = files_of(start, query.globs, bounds) if only is None else iter(only[index])
        with disk.Folder(start.root) as folder:
            running.look(start, files, folder)
        if running.found.stopped:
            break
    return running.found


class _Scan:
    """One search on its way: what was found, and how much room for output is left."""

    def __init__(self, query: Query, limits: Limits, bounds: Bounds) -> None:
        self.found = Found()
        self._find = _finder(query)
        self._needle = query.needle.encode("utf-8", "surrogatepass")
        self._limits = limits
        self._bounds = bounds
        self._room = limits.output_characters

    def look(self, start: Start, files: Iterator[str], folder: disk.Folder) -> None:
        """Look at some files of one root until a limit is met."""
        for relative in files:
            self._bounds.tick()
            if self._bounds.is_secret(relative):
                self.found.secret_files += 1
            else:
                content = self._content(start, relative, folder)
                if content is not None:
                    self._take(f"{start.top}/{relative}" if start.top else relative, content)
            if self._bounds.late():
                self.found.stopped = TIME_LIMIT
            if self.found.stopped:
                return

    def _take(self, path: str, content: str) -> None:
        before = len(self.found.hits)
        for number, line in _matches(self._find, content, self._bounds):
            if len(self.found.hits) >= self._limits.hits:
                self.found.stopped = f"more than {self._limits.hits} hits"
                break
            if self._room < 0:
                self.found.stopped = "output limit"
                break
            hit = Hit(path, number, line)
            self.found.hits.append(hit)
            self._bounds.on_hit(hit)
            self._room -= len(line) + len(path)
        self.found.files += len(self.found.hits) > before

    def _content(self, start: Start, relative: str, folder: disk.Folder) -> str | None:
        """The text of a file, or None: binary, too large, unreadable, or surely without the needle."""
        open_text = self._bounds.buffers.get(f"{start.root}/{relative}") if self._bounds.buffers else None
        if open_text is not None:
            return open_text
        data = folder.read(relative, self._limits.file_bytes)
        if data is None or self._lacks_needle(data):
            return None
        decoded = text.decode(data)
        return decoded[0] if decoded else None

    def _lacks_needle(self, data: bytes) -> bool:
        """True if the bytes tell without decoding. Those of wide encodings (NUL bytes, byte-order marks) do not."""
        if not self._needle or not self._needle.isascii() or self._needle in data:
            return False
        return data[:2] not in _WIDE_MARKS and b"\0" not in data[: text.BINARY_PROBE_BYTES]


_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def glob_spec(globs: tuple[str, ...]) -> GitIgnoreSpec | None:
    """Raises ToolError for a glob that is none."""
    if not globs:
        return None
    try:
        return GitIgnoreSpec.from_lines(globs)
    except ValueError as error:
        raise ToolError(f"glob: {error}", code="bad_arguments") from error


def expand_braces(glob: str) -> tuple[str, ...]:
    """`*.{js,ts}` as `*.js` and `*.ts`; at most 64 of them."""
    found = [glob]
    for _ in range(6):
        step: list[str] = []
        for item in found:
            match = re.search(r"\{([^{}]*,[^{}]*)\}", item)
            if match is None:
                step.append(item)
                continue
            step.extend(item[: match.start()] + choice + item[match.end() :] for choice in match[1].split(","))
        if step == found:
            break
        found = step[:64]
    return tuple(found)


def _finder(query: Query) -> Callable[[str], int]:
    """Where in a line the pattern first matches, -1 if nowhere."""
    if query.literal:
        return lambda line: line.find(query.pattern)
    compiled = re.compile(query.pattern)

    def find(line: str) -> int:
        match = compiled.search(line, 0, MAX_MATCHED_CHARACTERS)
        return match.start() if match else -1

    return find


def files_of(start: Start, globs: tuple[str, ...], bounds: Bounds) -> Iterator[str]:
    """The files that count, in walking order."""
    if start.is_file:
        yield start.relative
        return
    spec = glob_spec(globs)
    for entry in walk(start.root, start.relative, tick=bounds.tick, closes=bounds.closes):
        if entry.is_folder or entry.is_link:
            continue
        if spec is None or spec.check_file(entry.relative).include:
            yield entry.relative


def _matches(find: Callable[[str], int], content: str, bounds: Bounds) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split_lines(content), 1):
        if number % LINES_PER_SLICE == 0:
            bounds.tick()
            if bounds.late():
                return
        at = find(line)
        if at >= 0:
            yield number, _cut(line, at)


def _cut(line: str, at: int) -> str:
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    first = max(0, min(at - MAX_LINE_CHARACTERS // 4, len(line) - MAX_LINE_CHARACTERS))
    end = first + MAX_LINE_CHARACTERS
    return f"{'…' if first else ''}{line[first:end]}{'…' if end < len(line) else ''}"
