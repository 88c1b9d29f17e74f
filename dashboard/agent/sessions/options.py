"""What was said on the command line of the interactive session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from agent_core.turns.options import PLAIN, TurnOptions


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`task` is the first message, "" none. `workspace` None: this folder, or those of the session that is resumed.
    `resume` is a session by id, prefix or title, "" asks which; None: a new one. `latest`: this folder's last session.
    `flags` are settings by field name; `added` are folders beside the workspace. `plan`: turns only plan until `/act`.
    `mouse`: clicks and the wheel come here, else the terminal
    keeps them and its own selection works."""

    task: str = ""
    workspace: Path | None = None
    resume: str | None = None
    latest: bool = False
    flags: Mapping[str, Any] = msgspec.field(default_factory=dict)
    added: tuple[Path, ...] = ()
    plan: bool = False
    plain: bool = False
    mouse: bool = False
    theme: str | None = None

    @property
    def of_turn(self) -> TurnOptions:
        """What the first turn is told."""
        return TurnOptions(mode="plan") if self.plan else PLAIN
