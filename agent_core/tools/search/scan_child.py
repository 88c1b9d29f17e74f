"""Looking for a regular expression in a process of its own, so that a pattern that never ends can be killed.

The child's side: a task on stdin, one JSON line per hit on stdout, then one with the totals. Kept free of asyncio,
which would double its start.
"""

from __future__ import annotations

import json
import os
import sys
import time

import msgspec

from agent_core.tools.search.scan import Bounds, Limits, Query, Start, scan
from agent_core.tools.workspace.held import HeldRules, Told
from agent_core.tools.workspace.secret_names import SecretRules


class Task(msgspec.Struct, frozen=True):
    """`buffers`: texts of open files by path. `only` None: walk; else just these paths below each start's root."""

    query: Query
    starts: list[Start]
    limits: Limits
    limit_s: float
    allowed_secrets: tuple[str, ...]
    buffers: dict[str, str]
    only: list[list[str]] | None = None
    held: dict[str, list[Told]] = {}
    """What ignore files said since the session began."""


def main() -> None:
    # By way of `json`: names of files may hold lone surrogates, which msgspec's decoder refuses.
    task = msgspec.convert(json.load(sys.stdin.buffer), Task)
    ends = time.monotonic() + task.limit_s
    bounds = Bounds(
        tick=lambda: None,
        late=lambda: time.monotonic() >= ends,
        is_secret=SecretRules(task.allowed_secrets).match,
        buffers=task.buffers,
        closes=HeldRules.of(task.held).closes,
        on_hit=lambda hit: _say([hit.path, hit.line, hit.text]),
    )
    found = scan(task.query, task.starts, task.limits, bounds, task.only)
    _say({"secret_files": found.secret_files, "stopped": found.stopped})


def _say(answer: object) -> None:
    # ASCII only, so that any hit can be read back as it was.
    os.write(1, json.dumps(answer).encode() + b"\n")
