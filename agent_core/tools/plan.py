"""The tool `plan`: the model's own list of steps, shown to people. Keeps no state; the history has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_core.errors import ToolError
from agent_core.tools import schema
from agent_core.tools.port import ToolContext, ToolResult, ToolSpec

MAX_STEPS = 50
_STATES = ("done", "doing", "todo")


class PlanTool:
    """`data.steps`: a list of {text, status} with status todo, doing or done."""

    spec = ToolSpec(
        name="plan",
        description="Show the user all your steps, each as 'todo: …', 'doing: …' or 'done: …'.",
        parameters=schema.parameters({"steps": schema.STRINGS}),
        kind="note",
    )

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        steps = [_step(given) for given in arguments["steps"]]
        if not steps:
            raise ToolError("a plan needs at least one step", code="bad_arguments")
        if len(steps) > MAX_STEPS:
            raise ToolError(f"a plan has at most {MAX_STEPS} steps, this one has {len(steps)}", code="bad_arguments")
        done = sum(step["status"] == "done" for step in steps)
        summary = f"{done} of {len(steps)} steps done"
        return ToolResult(output=f"plan noted: {summary}", summary=summary, data={"steps": steps})


def _step(given: str) -> dict[str, str]:
    status, colon, rest = given.partition(":")
    if colon and status.strip().lower() in _STATES:
        return {"text": rest.strip(), "status": status.strip().lower()}
    return {"text": given.strip(), "status": "todo"}
