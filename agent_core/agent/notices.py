"""What a person is told of the way to the model: one line per reconnect, resend, renewal and change of way. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from agent_core.model.port import CallItem, CallStarted, FellBack, Reconnecting
from agent_core.telemetry.events import Reuse
from agent_core.turns.events import Notice

_RESENT: Mapping[Reuse, str] = {
    "not_found": "the service no longer held the conversation; it was sent again in full, on the same connection",
    "evicted": "the service had dropped the conversation after an error; it was sent again in full",
    "rotated": "the connection was renewed before its age limit; the conversation was sent in full once",
    "reconnected": "reconnected; the conversation was sent again in full",
}


def notice_of(item: CallItem) -> Notice | None:
    """The line for `item`; None where there is nothing to tell."""
    match item:
        case Reconnecting(number=number, limit=limit, cause=cause):
            return Notice(severity="warning", text=f"reconnecting {number}/{limit}: {cause}")
        case FellBack(again_after_s=0):
            return Notice(severity="info", text="too large for one WebSocket message; this call goes over HTTP")
        case FellBack(cause=cause, again_after_s=seconds):
            words = f"WebSocket does not work ({cause}); using HTTP, and trying again in {seconds / 60:g} min"
            return Notice(severity="warning", text=words)
        case CallStarted(back=True):
            return Notice(severity="info", text="back on WebSocket")
        case CallStarted(reuse=reuse) if reuse in _RESENT:
            return Notice(severity="info", text=_RESENT[reuse])
    return None
