"""Programs for the client's Python: from the parts in `scripts/` to one text, the job stated first."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

_SCRIPTS = "agent_core.repair.scripts"


_MODULES = ("common", "choice")
"""Parts that the others use by their names; in the one program they are that program."""


def program(parts: Sequence[str], job: Mapping[str, Any]) -> str:
    """One program out of parts that import each other; `JOB` holds what is asked of it."""
    names = "\n".join(f"{part} = sys.modules[__name__]" for part in parts if part in _MODULES)
    body = "\n".join([_text(parts[0]), names, *map(_text, parts[1:])])
    return f"from __future__ import annotations\n{_stated(job)}\n{body}\n"


def _stated(job: Mapping[str, Any]) -> str:
    """The job as Python that a person can review: a line per candidate where there are any."""
    if "candidates" not in job:
        return f"JOB = {dict(job)!r}"
    rows = "".join(f"    {item!r},\n" for item in job["candidates"])
    rest = {key: value for key, value in job.items() if key != "candidates"}
    return f"JOB = {rest!r}\nJOB['candidates'] = [\n{rows}]"


@cache
def _text(name: str) -> str:
    text = resources.files(_SCRIPTS).joinpath(f"{name}.py").read_text(encoding="utf-8")
    return ast.unparse(ast.fix_missing_locations(_Compact().visit(ast.parse(text))))


def _is_own(item: ast.stmt) -> bool:
    """What only makes sense in this repository: imports between the parts, and the empty job."""
    if isinstance(item, ast.ImportFrom):
        return item.module == "__future__" or (item.module or "").startswith(_SCRIPTS)
    return isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.target.id == "JOB"


class _Compact(ast.NodeTransformer):
    """Takes out what only readers and type checkers of this repository need, so that less is sent."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        node.body = [item for item in node.body if not _is_own(item)]
        self._strip(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self._strip(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self._strip(node)
        node.returns = None
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return (
            ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node) if node.value else ast.Pass()
        )

    def _strip(self, node: ast.Module | ast.ClassDef | ast.FunctionDef) -> None:
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        self.generic_visit(node)
