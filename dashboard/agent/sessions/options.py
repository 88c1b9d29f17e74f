"""What was said on the command line of the interactive session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`task` is the first message, "" none. `workspace` None: this folder, or those of the session that is resumed.
    `resume` is a session by id, prefix or title, "" asks which; None: a new one. `latest`: this folder's last session.
    `flags` are settings by field name, None where not given. `mouse`: clicks and the wheel come here, else the terminal
    keeps them and its own selection works."""

    task: str = ""
    workspace: Path | None = None
    resume: str | None = None
    latest: bool = False
    flags: Mapping[str, Any] = msgspec.field(default_factory=dict)
    python: str | None = None
    plain: bool = False
    mouse: bool = False
    theme: str | None = None
