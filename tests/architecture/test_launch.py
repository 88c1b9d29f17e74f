"""No process is started but by `agent_core/launch.py`: every other way in the product's code is found here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("agent_core", "lsp_server", "dashboard")
LAUNCH = "agent_core/launch.py"

STARTERS = frozenset(
    {
        *("Popen", "create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell"),
        *("check_call", "check_output", "getoutput", "getstatusoutput", "posix_spawn", "posix_spawnp", "forkpty"),
        *(f"exec{kind}" for kind in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
        *(f"spawn{kind}" for kind in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
    }
)
"""Names that start a process on whatever object they are called."""

OF_MODULES = {
    "os": {"system", "popen", "fork", "startfile"},
    "subprocess": {"run", "call"},
    "webbrowser": {"open", "open_new", "open_new_tab", "get"},
    "pty": {"spawn", "fork"},
    "shutil": {"which"},
}
"""Names that only start one, or look for a program in the working directory, on these modules."""

MODULES = frozenset({"multiprocessing", "concurrent.futures.process", "pexpect", "sh", "plumbum", "ctypes.util"})

INSIDE_A_COMMAND = {
    # Becomes the command that it confines, and the first process beside it: it was started by launch.py.
    "agent_core/tools/sandbox/landlock.py": {"os.execvpe", "os.fork"},
    # The conversation's own second half, so that it can leave its terminal while the shell goes on.
    "dashboard/agent/leash.py": {"os.fork"},
    # Sent into the workspace's interpreter by a command of the agent, which the rule for commands let run.
    "agent_core/repair/scripts/": {"subprocess.Popen", "subprocess.run", "os.fork"},
}


def found_in(tree: ast.AST) -> Iterator[str]:
    """What in a module starts a process, as `module.name`, or could under another name."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                modules[alias.asname or alias.name.partition(".")[0]] = alias.name
                if alias.name in MODULES:
                    yield alias.name
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if (
                    node.module in MODULES
                    or whole in MODULES
                    or alias.name == "ProcessPoolExecutor"
                    or alias.name in STARTERS
                    or alias.name in OF_MODULES.get(str(node.module), ())
                ):
                    yield whole
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        owner = modules.get(node.value.id, node.value.id) if isinstance(node.value, ast.Name) else "…"
        named = f"{owner}.{node.attr}"
        if (
            node.attr == "ProcessPoolExecutor"
            or node.attr in OF_MODULES.get(owner, ())
            or node.attr in STARTERS
            and not _is_annotation(node, tree)
        ):
            yield named


def _is_annotation(node: ast.Attribute, tree: ast.AST) -> bool:
    """`subprocess.Popen[bytes]` as a type starts nothing."""
    return any(isinstance(other, ast.Subscript) and other.value is node for other in ast.walk(tree))


def _allowed(path: str) -> set[str]:
    return next((names for where, names in INSIDE_A_COMMAND.items() if path.startswith(where)), set())


def test_only_launch_starts_processes() -> None:
    wrong = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            relative = path.relative_to(ROOT).as_posix()
            if relative == LAUNCH or relative.startswith("agent_core/demo/sample/"):
                continue
            names = set(found_in(ast.parse(path.read_text(encoding="utf-8")))) - _allowed(relative)
            wrong += [f"{relative}: {name}" for name in sorted(names)]
    assert not wrong, "start processes through agent_core/launch.py"


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess\nsubprocess.run(['x'])",
        "import subprocess as s\ns.call(['x'])",
        "from subprocess import run as go\ngo(['x'])",
        "import subprocess\nsubprocess.Popen(['x'])",
        "from asyncio import create_subprocess_exec",
        "import asyncio\nasyncio.create_subprocess_shell('x')",
        "loop.subprocess_exec(f, 'x')",
        "import os\nos.execv('x', [])",
        "import os as o\no.system('x')",
        "import os\nos.posix_spawn('x', [], {})",
        "import multiprocessing",
        "from concurrent.futures import ProcessPoolExecutor",
        "import concurrent.futures as f\nf.ProcessPoolExecutor()",
        "import webbrowser\nwebbrowser.open('x')",
        "import shutil\nshutil.which('x')",
        "import pty\npty.spawn('x')",
    ],
)
def test_each_way_is_found(code: str) -> None:
    assert list(found_in(ast.parse(code)))


def test_a_type_is_no_start() -> None:
    assert not list(found_in(ast.parse("import subprocess\nx: subprocess.Popen[bytes]\nsubprocess.PIPE")))
