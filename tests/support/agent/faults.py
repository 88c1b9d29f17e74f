"""A long task for the agent over a service that breaks its answers by a seeded die: real tools, real files.

The service asks for tools that change files in ways which show when they run twice or not at all: every edit needs the
text that the one before it left, and a command appends a line. What it asks for depends on the conversation alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.model import events as make
from tests.support.model.faults import FaultyService

Json = dict[str, Any]

SCRIPT: list[tuple[str, ...]] = [
    ("create", "plan"), ("edit",), ("read",), ("edit",), ("read", "read"), ("edit", "append"), ("edit",), ("read",),
    ("edit",), ("append",), ("edit", "read"), ("read",), ("edit",), ("edit",), ("read",), ("patch", "append"),
    ("edit",), ("read",), ("edit",), (),
]  # fmt: skip
"""Per model call, the tools that it asks for; the last one asks for none."""

CALLS = len(SCRIPT)


class Task:
    """The answers of the service."""

    def __init__(self) -> None:
        self._ids = 0

    def answer(self, items: list[Json]) -> list[Json]:
        """The reply to a conversation that holds `items`."""
        done = sum(item.get("type") == "function_call_output" for item in items)
        self._ids += 1
        reply, asked = 0, 0
        while asked < done:
            asked += len(SCRIPT[reply])
            reply += 1
        assert asked == done, f"{done} outputs are amid those of reply {reply}"
        thought = make.reasoning(f"thought {reply}", encrypted=f"sealed-{reply}", item_id=f"rs_{reply}")
        said = [call(reply, n) for n in range(len(SCRIPT[reply]))] or [make.message("all done", "msg_end")]
        return make.ladder(f"resp_{self._ids}", thought, *said)


def call(reply: int, n: int) -> Json:
    """The tool call number `n` of a reply."""
    kind = SCRIPT[reply][n]
    steps = sum(name in ("edit", "patch") for names in SCRIPT[:reply] for name in names)
    old, new = f"step {steps}\n", f"line {steps}\nstep {steps + 1}\n"
    patch = f"@@\n-step {steps}\n+line {steps}\n+step {steps + 1}"
    tools: dict[str, tuple[str, Json]] = {
        "create": ("edit", {"path": "work.txt", "old": "", "new": "step 0\n"}),
        "plan": ("plan", {"steps": ["doing: all of it"]}),
        "edit": ("edit", {"path": "work.txt", "old": old, "new": new}),
        "patch": ("patch", {"patch": f"*** Begin Patch\n*** Update File: work.txt\n{patch}\n*** End Patch"}),
        "append": ("shell", {"command": f"echo {reply} >> log.txt"}),
        "read": ("read", {"path": "work.txt"}),
    }
    name, arguments = tools[kind]
    return make.tool_call(f"call_{reply}_{n}", name=name, arguments=json.dumps(arguments))


class FaultyTask(FaultyService):
    """A `FaultyService` that plays the task."""

    def __init__(self, seed: int, odds: float) -> None:
        super().__init__(seed, CALLS, odds)
        self._rollout = Task()


def files(project: Path) -> dict[str, str]:
    """Every file of the project with its text."""
    return {path.name: path.read_text() for path in sorted(project.iterdir()) if path.is_file()}


FINAL = {
    "log.txt": "".join(f"{n}\n" for n, names in enumerate(SCRIPT) if "append" in names),
    "work.txt": "".join(f"line {n}\n" for n in range(11)) + "step 11\n",
}
"""What the task leaves when everything ran once."""
