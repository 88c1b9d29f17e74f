"""A corpus case with every identifier of its own renamed to a word that means nothing."""

from __future__ import annotations

import ast
import builtins
import keyword
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.repair_corpus import Case
from tests.support.repair_tools import LEAN

_SPECIAL = re.compile(r"^(__\w+__|test\w*|setUp|tearDown|self|cls|pytest|unittest|conftest|request|limited|stop)$")
_METHODS = {name for kind in (str, list, dict, set, tuple, int, float, bytes) for name in dir(kind)}


def own_names(trees: list[ast.Module]) -> list[str]:
    """Names that the project itself defines and that stand in no text."""
    defined: dict[str, None] = {}
    imported: set[str] = set()
    words: set[str] = set()
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                defined[node.name] = None
            elif isinstance(node, ast.arg):
                defined[node.arg] = None
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                defined[node.id] = None
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                defined[node.attr] = None
            elif isinstance(node, ast.Import):
                imported |= {part for item in node.names for part in item.name.split(".")}
            elif isinstance(node, ast.ImportFrom):
                imported |= {*(node.module or "").split("."), *(item.asname for item in node.names if item.asname)}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                words |= set(re.findall(r"\w+", node.value))
    library = {name for module in ("collections", "datetime", "re", "json", "math") for name in dir(__import__(module))}
    fixed = {*dir(builtins), *keyword.kwlist, *_METHODS, *library, *imported, *words, "per_file", "key", "reverse"}
    return [name for name in defined if name not in fixed and not _SPECIAL.match(name)]


class _Renamer(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def _new(self, name: str) -> str:
        return self.names.get(name, name)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("id", "attr", "arg", "name"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                setattr(node, field, self._new(value))
        if isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [self._new(name) for name in node.names]
        return super().generic_visit(node)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def renamed_copy(case: Case, place: Path) -> Case | None:
    """The renamed case under `place`; None where renaming changes which tests fail."""
    folder = place / case.name
    shutil.copytree(case.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    files = [path for path in sorted(folder.rglob("*.py")) if path.name != "conftest.py" and path.read_text().strip()]
    trees = {path: _without_docstrings(ast.parse(path.read_text(encoding="utf-8"))) for path in files}
    names = {name: f"name{number}" for number, name in enumerate(own_names(list(trees.values())), 1)}
    names = {old: new.capitalize() if old[:1].isupper() else new for old, new in names.items()}
    for path, tree in trees.items():
        changed = ast.fix_missing_locations(_Renamer(names).visit(tree))
        path.write_text(ast.unparse(changed) + "\n", encoding="utf-8")
    return Case(case.name, case.kind, case.runner, folder) if _outcomes(case.folder) == _outcomes(folder) else None


def _outcomes(folder: Path) -> str:
    """Which tests pass and fail, in order; this project's own settings left aside."""
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--tb=no",
        "-rA",
        "-c",
        os.devnull,
        "tests",
    ]
    environment = {"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", **LEAN}
    done = subprocess.run([*words, "tests"], cwd=folder, env=environment, capture_output=True, text=True, timeout=90)
    return " ".join(re.findall(r"^(PASSED|FAILED|ERROR) ", done.stdout, re.MULTILINE))
