"""The fields of a session's creates: what its model, its settings and the options of a turn make of them.

Owns model and effort of the session. What does not change is the same object from call to call, so that a create is
encoded once; a change of any field costs one create with the whole input (`protocol.chain`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_core.config.settings import Effort
from agent_core.model.capabilities import Capabilities, ModelBook
from agent_core.model.port import CallRequest, ItemLog
from agent_core.tools.toolbox import Offer, Toolbox
from agent_core.turns.options import TurnOptions


class Shaping:
    """Belongs to one session. `options` are the fields that its service is always sent; `summary`: whether a summary of
    the reasoning is asked for."""

    def __init__(
        self,
        *,
        model: str,
        instructions: str,
        items: ItemLog,
        toolbox: Toolbox,
        options: Mapping[str, Any],
        book: ModelBook,
        effort: Effort | None = None,
        summary: bool = False,
    ) -> None:
        self.model, self.effort, self.summary = model, effort, summary
        self._instructions, self._items, self._toolbox = instructions, items, toolbox
        self._options, self._book = options, book
        self._last: tuple[Mapping[str, str], Mapping[str, Any]] = ({}, options)

    @property
    def capabilities(self) -> Capabilities:
        """Of the model that is used now."""
        return self._book.of(self.model)

    def check(self, options: TurnOptions) -> None:
        """Raises UsageError for what the model does not take."""
        if options.effort is not None:
            self.capabilities.check_effort(options.effort)

    def offer(self, options: TurnOptions, *, asks: bool = False) -> Offer:
        """The tools that the model sees in such a turn. `asks`: somebody can answer it."""
        free_form = self.capabilities.edit_tool == "apply_patch"
        return Offer(free_form_patch=free_form, reading_only=options.mode == "plan", asks=asks)

    def request(self, options: TurnOptions, offer: Offer) -> CallRequest:
        return CallRequest(
            model=self.model,
            instructions=self._instructions,
            tools=self._toolbox.wire_json(offer),
            items=self._items,
            options=self._fields(options),
        )

    def _fields(self, options: TurnOptions) -> Mapping[str, Any]:
        reasoning = self.capabilities.reasoning_fields(options.effort or self.effort, summary=self.summary)
        if reasoning != self._last[0]:
            self._last = reasoning, {**self._options, "reasoning": reasoning} if reasoning else self._options
        if options.schema is None:
            return self._last[1]
        form = {"type": "json_schema", "name": "answer", "schema": options.schema, "strict": False}
        return {**self._last[1], "text": {"format": form}}
