"""What people read leaves through `telemetry.screen` and `cli.console` alone, which clean it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXITS = {
    "agent_core/telemetry/screen.py",
    "agent_core/telemetry/log_lines.py",  # makes the handler, whose formatter cleans
    "agent_core/cli/console.py",
}
NO_PERSON = {
    "agent_core/wire/generate.py",  # writes source code
    "agent_core/responses_server/engines/llama/trial.py",  # a child that answers its parent
    "agent_core/responses_server/process/logs.py",  # a handler whose formatters clean
}
NO_PERSON_BELOW = (
    "agent_core/bench/",
    "lsp_server/bench/",
    "dashboard/bench/",
    "agent_core/repair/scripts/",
    "agent_core/demo/sample/",
)
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}
CALLS = {"print", "Console", "StreamHandler", "basicConfig", "print_exc", "print_exception", "pprint"}
MODULES = {"typer", "click", "logging", "traceback", "rich"}


def _files(package: str) -> list[str]:
    found = [path.relative_to(ROOT).as_posix() for path in (ROOT / package).rglob("*.py")]
    return sorted(name for name in found if name not in EXITS | NO_PERSON and not name.startswith(NO_PERSON_BELOW))


def _exits(tree: ast.AST) -> Iterator[str]:
    nodes = list(ast.walk(tree))
    asked = {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and node.attr in ("isatty", "fileno")}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
            if node.attr in STREAMS and id(node) not in asked:
                yield f"line {node.lineno}: sys.{node.attr}"
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in CALLS:
                yield f"line {node.lineno}: {called.id}"
            elif isinstance(called, ast.Attribute) and called.attr in CALLS | {"echo", "secho"}:
                module = called.value.id if isinstance(called.value, ast.Name) else ""
                yield from [f"line {node.lineno}: {module}.{called.attr}"] if module in MODULES else []


@pytest.mark.parametrize("package", ["agent_core", "lsp_server", "dashboard"])
def test_nothing_is_written_past_the_exit(package: str) -> None:
    files = _files(package)
    trees = {name: ast.parse((ROOT / name).read_text(encoding="utf-8")) for name in files}
    found = [f"{name}: {each}" for name, tree in trees.items() for each in _exits(tree)]
    assert len(files) > 20 and not found, "\n".join(found)


@pytest.mark.parametrize("line", ["print(1)", "sys.stdout.write(a)", "typer.echo(a)", "logging.StreamHandler()",
                                  "Console()", "traceback.print_exc()"])  # fmt: skip
def test_the_test_finds_each_way_out(line: str) -> None:
    assert list(_exits(ast.parse(line)))
