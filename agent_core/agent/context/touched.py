"""What a session's tools did so far: the model's plan and the files that were touched. Survives every compaction.

Built from calls as they come; after a restart, from the calls in the history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from agent_core.agent.calls import Call
from agent_core.agent.context.fragments import capped

_READING = frozenset({"read"})
_EDITING = frozenset({"edit"})
_PATCHED = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b/)?)(.+?)\s*$", re.MULTILINE)


class TouchedFiles:
    """`files` maps each path as the model wrote it to whether it was changed, latest last."""

    def __init__(self) -> None:
        self.plan: list[str] = []
        self.files: dict[str, bool] = {}

    def recall(self, calls: Iterable[Call]) -> None:
        """Take note of the calls of an earlier process; whether they went well is not known."""
        for call in calls:
            self.note(call)

    def note(self, call: Call, changed: Iterable[str] = ()) -> list[str]:
        """A call ran, and changed these files. Gives the paths that it was about."""
        arguments = _object(call.arguments)
        if call.name == "plan":
            steps = arguments.get("steps")
            self.plan = [str(step) for step in steps] if isinstance(steps, list) else self.plan
            return []
        about = [path] if isinstance(path := arguments.get("path"), str) and path else []
        changed = list(changed) or (about if call.name in _EDITING else [])
        if call.name == "patch" and not changed:
            changed = _PATCHED.findall(str(arguments.get("patch", call.arguments)))
        for path in changed:
            self._touch(path, changed=True)
        if call.name in _READING:
            for path in about:
                if not path.startswith("output:"):  # the rest of a tool's output, which is no file
                    self._touch(path, changed=False)
        return [*dict.fromkeys((*about, *changed))]

    def text(self) -> str:
        """For the model, after what was said before is gone; "" where there is nothing to say."""
        changed = [path for path, was in self.files.items() if was]
        read = [path for path, was in self.files.items() if not was]
        parts = []
        if self.plan:
            parts.append("Your plan, as you last noted it:\n" + "\n".join(f"- {step}" for step in self.plan))
        if changed:
            parts.append("Files changed so far: " + ", ".join(changed))
        if read:
            parts.append("Files read so far, latest last: " + ", ".join(read[-60:]))
        return capped("footprint", "\n\n".join(parts))

    def _touch(self, path: str, *, changed: bool) -> None:
        was = self.files.pop(path, False)
        self.files[path] = was or changed


def _object(arguments: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(arguments.encode("utf-8", "replace"))
    except msgspec.MsgspecError:
        return {}
    return value if isinstance(value, dict) else {}
