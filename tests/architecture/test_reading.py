"""Files of a repository are read by `agent_core/untrusted_files.py`: whoever else opens files is listed, with whose."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("agent_core", "lsp_server", "dashboard")

OPENING = frozenset({"open", "read_text", "read_bytes", "open_binary", "open_code"})
NOT_FILES = frozenset({"os", "io", "builtins", "codecs"})

OTHERS: dict[str, str] = {
    # By folder or file: whose files it opens. None of them is of a repository.
    "agent_core/untrusted_files.py": "the reader itself",
    "agent_core/tools/workspace/disk.py": "a workspace, by the reader's own steps, to write as well",
    "agent_core/tools/commands/scratch.py": "reports of commands, in a private folder, without links and waiting",
    "agent_core/tools/commands/running.py": "pipes of commands",
    "agent_core/tools/commands/process_family.py": "/proc",
    "agent_core/tools/sandbox/": "paths to allow, and /proc",
    "agent_core/agent/context/git_state.py": "a private folder",
    "agent_core/agent/context/context.py": "the user's instructions, and our own",
    "agent_core/agent/context/compaction.py": "our own",
    "agent_core/agent/checkpoints/": "state",
    "agent_core/agent/approvals/grants.py": "state",
    "agent_core/agent/history.py": "state",
    "agent_core/agent/archive.py": "state",
    "agent_core/bench/": "benchmarks' own",
    "agent_core/cli/": "files that the user named",
    "agent_core/control/": "state and sockets",
    "agent_core/demo/": "our own",
    "agent_core/hosting/background.py": "our own, in the runtime folder",
    "agent_core/keys.py": "the user's",
    "agent_core/process_cost.py": "/proc",
    "agent_core/ready_file.py": "where the user said, or a private folder",
    "agent_core/config/load.py": "the user's",
    "agent_core/repair/": "our own scripts; they read inside a command",
    "agent_core/responses_server/": "the service's own, which has no repository",
    "agent_core/runtime/embedded.py": "a private folder",
    "agent_core/salvage.py": "state",
    "agent_core/telemetry/": "state",
    "agent_core/variables.py": "/proc/self",
    "agent_core/wire/": "our own",
    "lsp_server/bench/": "benchmarks' own",
    "lsp_server/command.py": "ready file and logs",
    "lsp_server/features/dashboard.py": "a private folder",
    "lsp_server/protocol/": "our own",
    "lsp_server/transport/tcp_peer.py": "/proc",
    "dashboard/": "state and our own",
}


def opened_in(tree: ast.AST) -> Iterator[int]:
    """Lines that open a file, or could."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id == "open":
            yield node.lineno
        if isinstance(function, ast.Attribute) and function.attr in OPENING:
            owner = function.value.id if isinstance(function.value, ast.Name) else ""
            # `session.open()` of an object of ours takes no mode; a path's and `os.open` name one, or are no coroutine.
            if function.attr != "open" or owner in NOT_FILES or _like_a_path(node):
                yield node.lineno


def _like_a_path(call: ast.Call) -> bool:
    return any(isinstance(given, ast.Constant) and str(given.value).strip("+bt") in "rwxa" for given in call.args)


def test_who_opens_files_is_known() -> None:
    unknown = []
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            relative = path.relative_to(ROOT).as_posix()
            if relative.startswith("agent_core/demo/sample/") or any(relative.startswith(other) for other in OTHERS):
                continue
            lines = sorted(set(opened_in(ast.parse(path.read_text(encoding="utf-8")))))
            unknown += [f"{relative}:{line}" for line in lines]
    assert not unknown, "read it by agent_core/untrusted_files.py, or say here whose file it is"


def test_settings_of_a_workspace_are_parsed_by_the_reader_alone() -> None:
    """A TOML parser takes time that grows with the square of a key's parts."""
    parsing = [
        path.relative_to(ROOT).as_posix()
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        if "tomllib.load" in path.read_text(encoding="utf-8")
    ]
    assert set(parsing) <= {"agent_core/untrusted_files.py", "agent_core/cli/serving/keys.py"}
