"""Takes out of events what could carry text, paths or code before they leave the machine. Pure.

Figures, ids, labels and codes stay. Some fields are meant to hold codes but are filled far away from here; what
does not look like one is removed rather than trusted.
"""

from __future__ import annotations

import re

import msgspec

from agent_core.telemetry import events as ev

_CODE = re.compile(r"[A-Za-z0-9_.:+-]{1,64}\Z")
_MODEL = re.compile(r"\w[\w.:+@-]*(/\w[\w.:+@-]*){0,3}\Z", re.ASCII)
_CODE_FIELDS = ("cause", "error_code", "finish_reason", "name", "kind", "by", "reporter")
REMOVED = "removed"


def strip_content(event: ev.Event) -> ev.Event | None:
    """The event as it may leave the machine; None if nothing of it may."""
    if isinstance(event, ev.Content):
        return None
    changes: dict[str, str | None] = {}
    if isinstance(event, ev.ApprovalResolved) and event.rule is not None:
        changes["rule"] = None  # a rule quotes the command or the path that it allows
    if isinstance(event, ev.CallSent | ev.CallReported) and event.model is not None and not _MODEL.match(event.model):
        changes["model"] = REMOVED
    for field in _CODE_FIELDS:
        value = getattr(event, field, None)
        if isinstance(value, str) and not _CODE.match(value):
            changes[field] = REMOVED if field in ("name", "kind", "reporter") else None
    return msgspec.structs.replace(event, **changes) if changes else event
