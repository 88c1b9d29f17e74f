"""The corpus of small buggy projects: one text file a case, read into records and written out as a project.

A case (`tests/corpus/repair/NAME.txt`) is a head of `key: value` lines, a section `=== fix` with a unified diff without
context, and the files of the project, each below a line `=== PATH`. Blank lines ahead of such a line separate, no more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

CORPUS = Path(__file__).parents[2] / "corpus" / "repair"
HELD_OUT = "held_out/"
"""Asserts that the engine never sees."""
_SECTION = re.compile(r"^=== (\S+)\n", re.MULTILINE)
_HUNK = re.compile(r"@@ -(\d+)(,0)?")


@dataclass
class Hunk:
    """Lines of the file `path` from `first` (counted from 1) that are `wrong` and become `right`."""

    path: str
    first: int
    wrong: list[str] = field(default_factory=list)
    right: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    """Of the bug, in words."""
    runner: str
    """pytest or unittest."""
    fix: Sequence[Hunk]
    """From top to bottom of each file."""
    files: Mapping[str, str]
    """Path below the project to text, with the bug in it, those of `HELD_OUT` among them."""

    def write(self, root: Path, *, held_out: bool = False) -> None:
        """Writes the project below `root`; `held_out` writes the asserts that the engine never sees, and only those."""
        for path, text in self.files.items():
            if path.startswith(HELD_OUT) == held_out:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")

    def fixed(self) -> Case:
        """The case with its fix in place. Raises ValueError where the diff does not fit."""
        files = {path: text.split("\n") for path, text in self.files.items()}
        for hunk in reversed(self.fix):
            lines, start, end = files[hunk.path], hunk.first - 1, hunk.first - 1 + len(hunk.wrong)
            if lines[start:end] != hunk.wrong:
                raise ValueError(f"{self.name}: line {hunk.first} of {hunk.path} is not what the fix takes away")
            lines[start:end] = hunk.right
        return replace(self, fix=(), files={path: "\n".join(lines) for path, lines in files.items()})


def cases() -> list[Case]:
    return [read_case(path) for path in sorted(CORPUS.glob("*.txt"))]


def read_case(path: Path) -> Case:
    """Raises ValueError, naming the file, where it is no case."""
    facts, files, fix = read_head(path)
    return Case(path.stem, facts["kind"], facts["runner"], fix, files)


def read_head(path: Path) -> tuple[dict[str, str], dict[str, str], list[Hunk]]:
    """The facts of a case's head, its files and its fix. Raises ValueError, naming the file, where it is no case."""
    head, *parts = _SECTION.split(path.read_text(encoding="utf-8"))
    named = zip(parts[::2], parts[1::2], strict=True)
    sections = {name: text.rstrip("\n") + "\n" if text.strip() else "" for name, text in named}
    facts = dict(line.split(": ", 1) for line in head.splitlines() if line)
    if not {"kind", "runner"} <= set(facts) or "fix" not in sections:
        raise ValueError(f"{path}: a case has a kind, a runner and a section `fix`")
    fix = _hunks(sections.pop("fix"))
    return facts, sections, fix


def _hunks(diff: str) -> list[Hunk]:
    found: list[Hunk] = []
    path = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ ")
        elif (head := _HUNK.match(line)) is not None:
            found.append(Hunk(path, int(head[1]) + (head[2] is not None)))  # `-4,0` means: after line 4
        elif not line.startswith("--- "):
            (found[-1].wrong if line.startswith("-") else found[-1].right).append(line[1:])
    return found
