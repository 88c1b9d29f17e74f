"""A message written in the person's own editor."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path

from agent_core import launch
from agent_core.variables import holds_key


def write_outside(text: str, environment: Mapping[str, str]) -> str | None:
    """What the person made of `text`; None: no editor is named, or it can't be started. The terminal is the editor's
    meanwhile, which gets no keys."""
    try:
        words = shlex.split(environment.get("VISUAL") or environment.get("EDITOR") or "")
    except ValueError:  # a quote that does not end
        return None
    if not words:
        return None
    own = {variable: value for variable, value in environment.items() if not holds_key(variable)}
    descriptor, name = tempfile.mkstemp(prefix="loopline-message-", suffix=".md")
    path = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            editor = launch.popen([*words, name], environment=own, cwd=Path.cwd(), stdin=None)
        except OSError:
            return None
        editor.wait()
        return path.read_text("utf-8", "replace")
    finally:
        path.unlink(missing_ok=True)
