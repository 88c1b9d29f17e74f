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


MANY = 8
"""Fields that a class may have before each of them needs words."""

SAID = re.compile(
    r"(?:^|_)(?:[a-z]+s|s|ms|ns|us|mb|usd|nano|number|line|width|height|tokens_est|port|pid|fd|seq|p\d\d|size)$"
)
"""Names of numbers that say what they count, or in which unit."""

DOCUMENTED_ELSEWHERE = {
    "agent_core/config/settings.py": "a setting's row has its words, which `loopline config` shows",
    "agent_core/wire/": "the fields are the service's, as its reference describes them",
}


def without_words(node: ast.ClassDef) -> list[str]:
    """Fields of a class that neither a docstring of their own nor that of the class explains. A name and a type say all
    of text, a switch, or a record of ours. Words need what may be None (where a sentence of the class on None does not
    speak for all), and a number whose name says neither unit nor what it counts. Bytes up and down need words too: of
    what they are."""
    of_class = " ".join((ast.get_docstring(node) or "").split())
    on_none = re.search(r"(?:^|[.:;,] )None\b|\bis absent\b", of_class)
    found = []
    for part, below in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(part, ast.AnnAssign) or not isinstance(part.target, ast.Name):
            continue
        name, kind = part.target.id, ast.unparse(part.annotation)
        own = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if own or name.startswith("_") or kind.startswith("ClassVar") or f"`{name}`" in of_class:
            continue
        empty = not on_none and re.search(r"\bNone\b", kind.partition("Callable")[0])
        bare = re.match(r"(?:int|float)\b", kind) and not SAID.search(name)
        if empty or bare:
            found.append(name)
    return found


def test_each_field_of_a_large_class_says_its_unit_and_what_none_means() -> None:
    silent = {
        f"{path} {node.name}": without_words(node) or ["the class itself"]
        for path, module in modules().items()
        if not path.startswith(tuple(DOCUMENTED_ELSEWHERE))
        for node in module.body
        if isinstance(node, ast.ClassDef)
        and sum(isinstance(part, ast.AnnAssign) for part in node.body) > MANY
        and (without_words(node) or not ast.get_docstring(node))
    }
    assert silent == {}


def test_the_rule_for_fields_sees_what_says_nothing() -> None:
    text = '''
class Few:
    """Counts. `near`: how close."""
    bytes_up: int
    calls: int
    waited_s: float
    near: float
    weight: float
    model: str | None
    done: Callable[[], None]
    held: int
    """Slots."""
    _own: int | None
'''
    told = ast.parse(text).body[0]
    assert isinstance(told, ast.ClassDef)
    assert without_words(told) == ["bytes_up", "weight", "model"]
    generic = ast.parse(text.replace("Counts.", "Counts. None: not known.")).body[0]
    assert isinstance(generic, ast.ClassDef)
    assert without_words(generic) == ["bytes_up", "weight"]
