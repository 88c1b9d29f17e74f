"""A corpus case with every identifier of its own renamed to a word that means nothing."""

from __future__ import annotations

import ast
import builtins
import keyword
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.support.repair.cases import Case
from tests.support.repair.tools import LEAN

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


def renamed(case: Case) -> Case | None:
    """The case with other names; None where renaming changes which tests fail."""
    trees = {
        path: _without_docstrings(ast.parse(text))
        for path, text in case.files.items()
        if path.endswith(".py") and Path(path).name != "conftest.py" and text
    }
    names = {name: f"name{number}" for number, name in enumerate(own_names(list(trees.values())), 1)}
    names = {old: new.capitalize() if old[:1].isupper() else new for old, new in names.items()}
    texts = {path: ast.unparse(ast.fix_missing_locations(_Renamer(names).visit(tree))) for path, tree in trees.items()}
    copy = replace(case, fix=(), files={**case.files, **{path: text + "\n" for path, text in texts.items()}})
    return copy if _outcomes(case) == _outcomes(copy) else None


def _outcomes(case: Case) -> str:
    """Which tests pass and fail, in order; this project's own settings left aside."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-rA", "-c", os.devnull]
    with tempfile.TemporaryDirectory(prefix="corpus-") as root:
        case.write(Path(root))
        env = {"PYTHONPATH": root, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", **LEAN}
        done = subprocess.run([*words, "tests"], cwd=root, env=env, capture_output=True, text=True, timeout=90)
    return " ".join(re.findall(r"^(PASSED|FAILED|ERROR) ", done.stdout, re.MULTILINE))
