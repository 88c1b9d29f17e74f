"""What may be said of one turn beside its task. Records, no I/O."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from agent_core.config.settings import Effort

Mode = Literal["act", "plan"]
"""`plan`: nothing is written and no command can write; the answer is a plan."""

CARRY_OUT = "Carry out the plan."
"""The task of the turn that a plan is turned into."""


class TurnOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`effort` None: that of the session. `schema`: JSON Schema of the final answer, None: it is text."""

    mode: Mode = "act"
    effort: Effort | None = None
    schema: dict[str, Any] | None = None


PLAIN = TurnOptions()
