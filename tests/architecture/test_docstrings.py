"""What docstrings name is there: a field that was renamed must not live on in the words about it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from agent_core import errors

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"(?<!`)`([a-z_][a-z0-9_]*)`(?!`)")
EXAMPLES = {"agent_core/tools/commands/handles.py": {"p1", "p2"}}
"""Names that stand for others of their kind."""


@cache
def modules() -> dict[str, ast.Module]:
    files = [file for room in ("agent_core", "lsp_server", "dashboard") for file in (ROOT / room).rglob("*.py")]
    return {str(file.relative_to(ROOT)): ast.parse(file.read_text()) for file in files}


def used(module: ast.Module) -> set[str]:
    """Every name and every word of a string in the code, docstrings left out."""
    documents = {
        id(part.value)
        for node in ast.walk(module)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for part in node.body
        if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
    }
    found: set[str] = set()
    for node in ast.walk(module):
        found |= {text for field, text in ast.iter_fields(node) if isinstance(text, str) and field != "value"}
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            found |= set(re.findall(r"[a-z_][a-z0-9_]*", node.value))
    return found


def test_a_name_in_the_docstring_of_a_class_is_in_the_code() -> None:
    everywhere = set().union(*map(used, modules().values()))
    unknown = [
        f"{path}:{node.lineno} {node.name} `{name}`"
        for path, module in modules().items()
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef)
        for name in NAME.findall(ast.get_docstring(node) or "")
        if name not in everywhere | EXAMPLES.get(path, set())
    ]
    assert unknown == []


def test_the_tree_of_errors_names_fields_that_they_have() -> None:
    tree = ast.parse((ROOT / "agent_core" / "errors.py").read_text())
    fields = {
        node.name: {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
        | set(dir(getattr(errors, node.name)))
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    lines = [(match, line) for line in (errors.__doc__ or "").splitlines() if (match := re.search(r"── (\w+)", line))]
    assert len(lines) > 10
    assert [name for match, line in lines for name in NAME.findall(line) if name not in fields[match[1]]] == []
