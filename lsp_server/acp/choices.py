"""What a client may choose in a session: its mode, its model, how hard the model thinks. Pure.

Modes are told twice, as the protocol has it: as modes, and as an option for clients that draw options alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from agent_core.config.settings import Approve, Effort
from agent_core.errors import UsageError
from agent_core.telemetry.display import one_line
from agent_core.turns.options import TurnOptions
from lsp_server.acp.lines import Json
from lsp_server.settings import stricter_approve

UNKNOWN_CHOICE = "unknown_choice"
AS_IT_LIKES = "default"
"""Of effort: the model decides."""
_MODES: dict[str, tuple[str, str]] = {
    "ask": ("Ask", "Commands ask first, as the settings say."),
    "auto": ("Auto", "Nothing asks."),
    "never": ("Never", "What would ask is denied."),
    "plan": ("Plan", "Nothing is changed; the answer is a plan."),
}
_APPROVES: tuple[Approve, ...] = ("ask", "auto", "never")


class Choices(msgspec.Struct, kw_only=True):
    """Of one session. `approve` is how it began or was told since; `folders` is what its folder says, None: nothing.
    `models` and `efforts` are what is offered; the present ones are always among them."""

    approve: Approve
    folders: Approve | None = None
    planning: bool = False
    model: str = ""
    models: tuple[str, ...] = ()
    effort: Effort | None = None
    efforts: tuple[Effort, ...] = ()

    @property
    def mode(self) -> str:
        return "plan" if self.planning else self.approve

    @property
    def modes(self) -> list[str]:
        """Which there are to choose from: no looser one than the folder says, and `never` where it began so."""
        open_to = [mode for mode in _APPROVES if self.folders is None or stricter_approve(mode, self.folders) is None]
        return [mode for mode in open_to if mode != "never" or self.approve == "never"] + ["plan"]

    @property
    def of_turn(self) -> TurnOptions:
        return TurnOptions(mode="plan" if self.planning else "act", effort=self.effort)

    def take_mode(self, mode: str) -> bool:
        """Whether approvals changed with it. Raises UsageError (`unknown_choice`)."""
        if mode not in self.modes:
            raise _unknown("mode", mode, self.modes)
        self.planning = mode == "plan"
        if self.planning or mode == self.approve:
            return False
        self.approve = msgspec.convert(mode, Approve)
        return True

    def take(self, option: str, value: str) -> bool:
        """Choose by option. Whether the session is to be opened anew for it. Raises UsageError (`unknown_choice`)."""
        if option == "mode":
            return self.take_mode(value)
        if option == "model" and self.models:
            if value not in self.models:
                raise _unknown("model", value, self.models)
            changed, self.model = value != self.model, value
            return changed
        if option == "effort" and self.efforts:
            if value != AS_IT_LIKES and value not in self.efforts:
                raise _unknown("effort", value, [AS_IT_LIKES, *self.efforts])
            self.effort = None if value == AS_IT_LIKES else msgspec.convert(value, Effort)
            return False
        raise _unknown("option", option, [each["id"] for each in self.options()])

    def described(self) -> Json:
        """`modes` and `configOptions` of an answer."""
        return {"modes": self.mode_state(), "configOptions": self.options()}

    def mode_state(self) -> Json:
        listed = [{"id": mode, "name": _MODES[mode][0], "description": _MODES[mode][1]} for mode in self.modes]
        return {"currentModeId": self.mode, "availableModes": listed}

    def options(self) -> list[Json]:
        found = [
            _select("mode", "Mode", "mode", self.mode, [(mode, *_MODES[mode]) for mode in self.modes]),
        ]
        if self.models:
            found.append(_select("model", "Model", "model", self.model, [(model, model, "") for model in self.models]))
        if self.efforts:
            offered = [(AS_IT_LIKES, "As the model likes", ""), *((each, each, "") for each in self.efforts)]
            found.append(_select("effort", "Effort", "thought_level", self.effort or AS_IT_LIKES, offered))
        return found


def _select(name: str, title: str, category: str, value: str, offered: Sequence[tuple[str, str, str]]) -> Json:
    return {
        "type": "select",
        "id": name,
        "name": title,
        "category": category,
        "currentValue": value,
        "options": [
            {"value": each, "name": one_line(words), **({"description": more} if more else {})}
            for each, words, more in offered
        ],
    }


def _unknown(what: str, given: Any, known: Sequence[str]) -> UsageError:
    return UsageError(
        f"there is no {what} {str(given)[:80]!r}", code=UNKNOWN_CHOICE, hint=f"one of {', '.join(known)[:400]}"
    )
