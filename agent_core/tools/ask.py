"""The tool `ask`: a question to the user, answered in words. It is offered only where somebody can answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_core.errors import ToolError
from agent_core.tools import schema
from agent_core.tools.port import ToolContext, ToolResult, ToolSpec

MAX_OPTIONS, MAX_QUESTION = 8, 2_000
"""Choices of one question, and characters of it."""


class AskTool:
    """The output is the answer as it was given."""

    spec = ToolSpec(
        name="ask",
        description="Ask the user what only they can decide, with short options to choose from; waits for the answer.",
        parameters=schema.parameters({"question": schema.STRING}, {"options": schema.STRINGS}),
        kind="note",
    )

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        question, options = arguments["question"].strip(), tuple(arguments.get("options", ()))
        if not question or len(question) > MAX_QUESTION or len(options) > MAX_OPTIONS:
            text = f"a question has 1 to {MAX_QUESTION} characters and at most {MAX_OPTIONS} options"
            raise ToolError(text, code="bad_arguments")
        answer = await context.ask(question, options) if context.ask is not None else None
        if answer is None or not answer.strip():
            raise ToolError("the user gave no answer: decide yourself, and say what you assumed", code="no_answer")
        return ToolResult(output=answer.strip(), summary=answer.strip().split("\n", 1)[0])
