"""`make test-quick`: which tests cover what changed since the main branch. Prints their paths, most direct first.

A test covers a module that it imports, one whose name it bears in the same room, or, last, one that is imported by what
it imports. Files of units and properties only: what takes long is left to `make test`.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("agent_core", "lsp_server", "dashboard", "tests")
QUICK = ("tests/unit", "tests/property", "tests/golden")


def changed(root: Path = ROOT) -> list[str]:
    """Paths that differ from where this branch left the main one, those not committed and new ones included."""

    def git(*arguments: str) -> list[str]:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, timeout=60)
        return done.stdout.splitlines() if done.returncode == 0 else []

    base = next(iter(git("merge-base", "HEAD", "origin/main") or git("merge-base", "HEAD", "main") or ["HEAD"]))
    return sorted({*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")})


def module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports(path: Path, modules: frozenset[str]) -> frozenset[str]:
    """Those of `modules` that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
            found.update(f"{node.module}.{name.name}" for name in node.names)
    return frozenset(found & modules)


def graph(root: Path = ROOT) -> dict[str, frozenset[str]]:
    """Path of each file of ours with the modules that it imports."""
    files = [path for room in SOURCES for path in (root / room).rglob("*.py") if "corpus" not in path.parts]
    paths = {str(path.relative_to(root)): path for path in files}
    modules = frozenset(map(module_of, paths))
    return {name: imports(path, modules) for name, path in paths.items()}


def chosen(changes: Iterable[str], imported: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Files of tests for `changes`, each once: changed ones, those that import what changed, those at one remove."""
    changes = list(changes)
    tests = [path for path in sorted(imported) if path.startswith(QUICK) and Path(path).name.startswith("test_")]
    touched = frozenset(module_of(path) for path in changes if path in imported)
    near = frozenset(module_of(path) for path, names in imported.items() if names & touched)
    given: set[str] = set()
    for covers in (
        lambda path: path in changes,
        lambda path: imported[path] & touched,
        lambda path: any(beside(path, change) for change in changes),
        lambda path: imported[path] & near,
    ):
        for path in tests:
            if path not in given and covers(path):
                given.add(path)
                yield path


def beside(test: str, change: str) -> bool:
    """Whether a file of units bears the name of a changed module and stands where that stands."""
    room = Path(change).parent.as_posix().removeprefix("agent_core").strip("/")
    return Path(test).parent.as_posix() == f"tests/unit/{room}" and Path(test).stem == f"test_{Path(change).stem}"


if __name__ == "__main__":
    sys.stdout.write("".join(f"{path}\n" for path in chosen(changed(), graph())))
