"""What the plan asks for and what it gets back, free of any client's tool names. Paths: relative to the workspace."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ListFiles:
    path: str = ""
    depth: int = 2


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Lines `start` to `end` (from 1, inclusive); `end` None reads to the end or to the tool's own cap."""

    path: str
    start: int = 1
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """Lines that match a regular expression."""

    pattern: str
    glob: str = "*.py"


@dataclass(frozen=True, slots=True)
class RunTests:
    """Runs the tests in the workspace itself. `target` is a test file; None runs all."""

    target: str | None = None
    command: str | None = None
    """The command of an earlier run, for a client without a tool that finds it."""


@dataclass(frozen=True, slots=True)
class EditFile:
    """Replaces the one place where `old` stands by `new`."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The workspace's Python: what a shown command said of it (`python`, a path), and the runner that it must have."""

    shown: str = ""
    runner: str = ""


@dataclass(frozen=True, slots=True)
class RunScript:
    """Runs a Python program with the workspace's interpreter. `purpose` is a comment for whoever approves it."""

    interpreter: Interpreter
    script: str
    purpose: str
    limit_s: int = 60


Action = ListFiles | ReadFile | Search | RunTests | EditFile | RunScript


@dataclass(frozen=True, slots=True)
class Listing:
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileText:
    """Lines `first` to `last` of `total`, joined by newlines."""

    path: str
    first: int
    last: int
    total: int
    text: str


@dataclass(frozen=True, slots=True)
class Hits:
    """(path, line, text) of lines that match."""

    found: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, slots=True)
class TestRun:
    """`status` is passed, failed, none (no tests) or error (the run itself failed); `runner` pytest or unittest.

    `passed` is None where the runner did not tell.
    """

    __test__ = False

    status: str
    failed: int
    passed: int | None
    runner: str
    command: str
    output: str


@dataclass(frozen=True, slots=True)
class Edited:
    path: str


@dataclass(frozen=True, slots=True)
class ScriptOutput:
    text: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The tool is missing, was denied or failed; `why` is its own text, shortened."""

    why: str


Observation = Listing | FileText | Hits | TestRun | Edited | ScriptOutput | Refused


@dataclass(frozen=True, slots=True)
class PlanStep:
    """Text for the user and the actions that may run side by side. No actions: the answer is final."""

    say: str
    actions: tuple[Action, ...] = ()
