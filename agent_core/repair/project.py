"""What the plan knows of the project so far: the files it has read, and what follows from them. No I/O."""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_core.repair.actions import EditFile, FileText
from agent_core.repair.failures import Failure, is_test_path
from agent_core.repair.localise import called_names
from agent_core.repair.operators.base import Clues, apply
from agent_core.repair.scratch import Patch
from agent_core.repair.source import Source


@dataclass
class Project:
    texts: dict[str, str] = field(default_factory=dict)
    """Whole files, with one newline at the end."""
    parts: dict[str, list[FileText]] = field(default_factory=dict)

    def add(self, piece: FileText) -> int | None:
        """Takes in a piece of a file; the next line to read, None once the file is whole or can't become so."""
        known = self.parts.setdefault(piece.path, [])
        if piece.first <= 1:
            known.clear()
        known.append(piece)
        if piece.last >= piece.total or piece.last < piece.first:
            text = "\n".join(part.text for part in known)
            self.texts[piece.path] = text.rstrip("\n") + "\n"
            return None
        return piece.last + 1

    def source(self, path: str, patch: Patch = ()) -> Source | None:
        """The parsed file with a patch in place; None where it was not read or is no Python."""
        text = self.texts.get(path)
        if text is None:
            return None
        try:
            return Source(path, patched(text, path, patch))
        except (SyntaxError, ValueError):
            return None

    def tests(self, failures: Sequence[Failure]) -> list[ast.AST]:
        """The functions of failing tests, as far as their files were read."""
        found: list[ast.AST] = []
        for failure in failures:
            source = self.source(failure.file or "")
            if source is None:
                continue
            name = failure.test.rpartition("::")[2].partition("[")[0].rpartition(".")[2]
            found += [
                node
                for node in ast.walk(source.tree)
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
            ]
        return list(dict.fromkeys(found))

    def clues(self, failures: Sequence[Failure]) -> Clues:
        """What the failing tests say: errors, expected exceptions, literals."""
        expected: dict[str, None] = {}
        constants: dict[tuple[type, object], object] = {}
        for test in self.tests(failures):
            for node in ast.walk(test):
                if (
                    isinstance(node, ast.Constant)
                    and isinstance(node.value, int | float | str)
                    and not isinstance(node.value, bool)
                ):
                    constants[type(node.value), node.value] = node.value
                if isinstance(node, ast.Call) and called(node) in ("raises", "assertRaises", "assertRaisesRegex"):
                    expected.update((ast.unparse(item), None) for item in node.args[:1])
        return Clues(
            tuple(dict.fromkeys((failure.error, failure.message) for failure in failures)),
            tuple(expected), tuple(constants.values()), tuple(self.definitions().items()), tuple(self.vocabulary()),
        )  # fmt: skip

    def definitions(self) -> dict[str, str]:
        """Top-level names of the project's own files -> dotted module."""
        found: dict[str, str] = {}
        for path in self.texts:
            source = None if is_test_path(path) else self.source(path)
            for node in source.tree.body if source else []:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    found[node.name] = (
                        path.removesuffix(".py").replace("/", ".").removesuffix(".__init__").removeprefix("src.")
                    )
        return found

    def vocabulary(self) -> list[str]:
        """Attribute and keyword names seen in the files read, tests included."""
        found: dict[str, None] = {}
        for path in self.texts:
            source = self.source(path)
            for node in ast.walk(source.tree) if source else []:
                if isinstance(node, ast.Attribute):
                    found[node.attr] = None
                elif isinstance(node, ast.keyword) and node.arg:
                    found[node.arg] = None
        return list(found)

    def called(self, failures: Sequence[Failure]) -> list[str]:
        """Names that failing tests call, without Python's own."""
        names = [name for test in self.tests(failures) for name in called_names(test)]
        return [name for name in dict.fromkeys(names) if not hasattr(builtins, name)]


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def patched(text: str, path: str, patch: Patch) -> str:
    return apply(text, [item for edit in patch if edit.path == path for item in edit.replacements])


def edits_between(path: str, before: str, after: str) -> list[EditFile]:
    """Edits that lead from one text to another, each with just enough lines around it to be the only place."""
    found: list[EditFile] = []
    old, new = before.rstrip("\n").split("\n"), after.rstrip("\n").split("\n")
    hunks = [
        item for item in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if item[0] != "equal"
    ]
    shift = 0
    current = old
    for _, old_first, old_last, new_first, new_last in hunks:
        first, last = old_first + shift, old_last + shift
        lines = new[new_first:new_last]
        found.append(_unique_edit(path, current, first, last, lines))
        current = current[:first] + lines + current[last:]
        shift += len(lines) - (old_last - old_first)
    return found


def _unique_edit(path: str, lines: list[str], first: int, last: int, new: list[str]) -> EditFile:
    """Lines `first` to `last` (exclusive) become `new`; neighbours are added until the old text stands only once."""
    text = "\n".join(lines)
    above, below = first, last
    upwards = True
    while True:
        old = "\n".join(lines[above:below])
        replaced = new or above < first or below > last  # else an empty line would be left
        whole = above == 0 and below == len(lines)
        if whole or (below > above and replaced and old.strip() and _count(text, old) == 1):
            return EditFile(path, old, "\n".join([*lines[above:first], *new, *lines[last:below]]))
        upwards = not upwards if above and below < len(lines) else above > 0
        above, below = (above - 1, below) if upwards else (above, below + 1)


def _count(text: str, piece: str) -> int:
    """How often a piece stands in a text, overlaps counted."""
    count, at = 0, text.find(piece)
    while at >= 0:
        count, at = count + 1, text.find(piece, at + 1)
    return count
