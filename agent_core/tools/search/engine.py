"""The way of one search: ripgrep first where it helps, then a thread or, for patterns that may never end, a process.

Whatever the way, the walker says which files count and Python's `re` says what matches, so the hits are the same.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from agent_core import launch
from agent_core.errors import ToolError
from agent_core.tools.background import Job, off_loop
from agent_core.tools.commands.processes import Processes
from agent_core.tools.commands.running import Command
from agent_core.tools.search.pattern import is_quick
from agent_core.tools.search.scan import TIME_LIMIT, Bounds, Found, Hit, Limits, Query, Start, files_of, scan
from agent_core.tools.search.scan_child import Task
from agent_core.tools.workspace.workspace import Workspace

GRACE_S = 1.0
"""How much longer than the time limit a child process may take before it is killed."""

FIRST_LOOK_S = 0.5
"""How long the files are searched as they come, before the whole tree is listed for ripgrep."""

LEAST_S = 0.5
"""What a step gets where the time is up already: it then says so itself."""

MAX_ANSWER_BYTES = 16_000_000
MIN_FILES_FOR_RIPGREP = 400
"""With fewer files, starting a process costs more than reading them."""

MAX_ARGUMENT_BYTES = 512_000


class SearchEngine:
    """`ripgrep` is the program to use, None for none."""

    def __init__(
        self,
        workspace: Workspace,
        environment: Mapping[str, str],
        processes: Processes,
        limits: Limits,
        limit_s: float,
        ripgrep: str | None,
        first_look_s: float = FIRST_LOOK_S,
    ) -> None:
        self._workspace = workspace
        self._environment = environment
        self._processes = processes
        self._limits = limits
        self._limit_s = limit_s
        self._ripgrep = ripgrep
        self._first_look_s = first_look_s

    async def find(self, query: Query, starts: list[Start]) -> Found:
        """A first look at what lies near, which often is all there is; then the whole tree, faster where ripgrep is.

        All steps together keep to the time limit, and half of it is left for the last.
        """
        quick = query.literal or is_quick(query.pattern)
        deadline_s = time.monotonic() + self._limit_s
        first_s = min(self._first_look_s, self._limit_s)
        if quick:
            found = await off_loop(lambda job: self._in_thread(job, query, starts, None), first_s)
            if found.stopped != TIME_LIMIT or first_s == self._limit_s:
                return found
        only = await self._candidates(query, starts, deadline_s - self._limit_s / 2)
        left_s = max(deadline_s - time.monotonic(), LEAST_S)
        if quick:
            return await off_loop(lambda job: self._in_thread(job, query, starts, only), left_s)
        return await self._in_child(query, starts, only, left_s)

    def _in_thread(self, job: Job, query: Query, starts: list[Start], only: list[list[str]] | None) -> Found:
        return scan(query, starts, self._limits, self._bounds(job), only)

    def _bounds(self, job: Job) -> Bounds:
        return Bounds(
            tick=job.tick,
            late=lambda: job.late,
            is_secret=self._workspace.secrets.match,
            buffers=self._workspace.open_texts(),
            closes=self._workspace.held.closes,
        )

    async def _in_child(self, query: Query, starts: list[Start], only: list[list[str]] | None, limit_s: float) -> Found:
        task = Task(
            query=query,
            starts=starts,
            limits=self._limits,
            limit_s=limit_s,
            allowed_secrets=self._workspace.secrets.allowed,
            buffers=self._workspace.open_texts(),
            only=only,
            held=self._workspace.held.told(),
        )
        outcome = await self._processes.run(
            Command(
                argv=launch.own_python("-c", "from agent_core.tools.search.scan_child import main; main()"),
                cwd=launch.NEUTRAL,
                environment=self._environment,
                timeout_s=limit_s + GRACE_S,
                max_output_bytes=MAX_ANSWER_BYTES,
                stdin=json.dumps(msgspec.to_builtins(task)).encode(),
            )
        )
        return _answer(outcome.output, killed=bool(outcome.stopped_by))

    async def _candidates(self, query: Query, starts: list[Start], deadline_s: float) -> list[list[str]] | None:
        """Per start, the files that may have hits, in walking order; None: look at all, also where `deadline_s` (of
        `time.monotonic`) came first."""
        if self._ripgrep is None or not query.needle.isascii() or not query.needle:
            return None
        left_s = max(deadline_s - time.monotonic(), LEAST_S)
        lists = await off_loop(lambda job: _listed(job, starts, query, self._bounds(job)), left_s)
        if lists is None or sum(map(len, lists)) < MIN_FILES_FOR_RIPGREP:
            return None
        buffers = self._workspace.open_texts()
        found: list[list[str]] = []
        for start, files in zip(starts, lists, strict=True):
            holding = await self._holding(query.needle, start.root, files, deadline_s)
            if holding is None:
                return None
            found.append([file for file in files if file in holding or f"{start.root}/{file}" in buffers])
        return found

    async def _holding(self, needle: str, root: str, files: list[str], deadline_s: float) -> set[str] | None:
        """Those of `files` that hold `needle`, by ripgrep; None if it failed."""
        found: set[str] = set()
        for batch in _batches(files):
            outcome = await self._processes.run(
                Command(
                    argv=(str(self._ripgrep), *_RIPGREP_OPTIONS, f"--regexp={needle}", "--", *batch),
                    cwd=root,
                    environment=self._environment,
                    timeout_s=max(deadline_s - time.monotonic(), LEAST_S),
                    max_output_bytes=MAX_ANSWER_BYTES,
                    raw=True,
                )
            )
            if outcome.exit_code not in (0, 1):
                return None
            found.update(os.fsdecode(name) for name in outcome.raw.split(b"\0"))
        return found


_RIPGREP_OPTIONS = (
    "--no-config",
    "--no-ignore",
    "--hidden",
    "--text",
    "--no-messages",
    "--files-with-matches",
    "--null",
    "--fixed-strings",
    "--case-sensitive",
)


def find_ripgrep(environment: Mapping[str, str], outside: Sequence[str] = ()) -> str | None:
    """`rg` on PATH but not below a folder in `outside`, else the one of the ripgrep wheel beside this Python; None
    without either."""
    found = launch.find_program("rg", environment, outside)
    return found or launch.find_program("rg", {"PATH": str(Path(sys.executable).parent)})


def _listed(job: Job, starts: list[Start], query: Query, bounds: Bounds) -> list[list[str]] | None:
    """The files of each start; None if there was not even time to list them."""
    lists: list[list[str]] = []
    for start in starts:
        files: list[str] = []
        for relative in files_of(start, query.globs, bounds):
            if job.late:
                return None
            files.append(relative)
        lists.append(files)
    return lists


def _batches(files: list[str]) -> list[list[str]]:
    """`files` in lists that fit on a command line."""
    found: list[list[str]] = []
    room = 0
    for file in files:
        size = len(os.fsencode(file)) + 16
        if size > room:
            found.append([])
            room = MAX_ARGUMENT_BYTES
        found[-1].append(file)
        room -= size
    return found


def _answer(output: str, *, killed: bool) -> Found:
    found, complete = Found(), False
    for line in output.split("\n"):
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, list):
            found.hits.append(Hit(*answer))
        elif isinstance(answer, dict):
            found.secret_files, found.stopped, complete = answer["secret_files"], answer["stopped"], True
    found.files = len({hit.path for hit in found.hits})
    if not complete:
        if not killed:
            raise ToolError("the search process failed", code="internal")
        found.stopped = "the pattern takes too long"
    return found
