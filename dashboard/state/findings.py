"""What went wrong, or nearly did, as a list that people can read. Pure.

Each trouble is counted once: a chain that was lost and sent anew is one entry marked as recovered, and a turn that
failed because of a call adds none of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

import msgspec

from agent_core.telemetry import events as ev
from agent_core.telemetry.rollup.suspect import suspect_of
from dashboard.state.format import duration, figure_names, one_line

Severity = Literal["error", "warning", "recovered"]

_TOOL_TROUBLE = {"error": "failed", "denied": "was denied", "timeout": "timed out"}
_LOOK_BACK = 20
SUSPECT_FIGURES = "suspect_figures"
_REPEATED = {
    "not_found": "the service did not have the chain; the whole input was sent again",
    "evicted": "the service dropped the chain; the whole input was sent again",
    "rotated": "the socket was renewed; the whole input was sent again",
    "reconnected": "the socket was lost; the whole input was sent again",
}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One trouble. `code` is of low cardinality; `text` is one sentence without content of the session.
    None: it is about none."""

    at_ns: int
    severity: Severity
    subject: Literal["turn", "call", "tool", "connection"]
    code: str
    text: str
    source: str
    session: str | None = None
    turn: str | None = None
    call: str | None = None
    connection: str | None = None
    client: str | None = None
    """Of its session, where that is known."""


def findings_of(event: ev.Event, at_ns: int, before: Sequence[Finding]) -> Iterator[Finding]:
    """What an event adds to the findings; `before` are those so far, newest last."""
    found = _judge(event, before)
    if found is not None:
        severity, subject, code, text = found
        yield Finding(
            at_ns=at_ns,
            severity=severity,
            subject=subject,
            code=code,
            text=text,
            source=event.source,
            session=event.session,
            turn=event.turn,
            call=event.call,
            connection=event.connection,
        )


def _judge(
    event: ev.Event, before: Sequence[Finding]
) -> tuple[Severity, Literal["turn", "call", "tool", "connection"], str, str] | None:
    match event:
        case ev.CallCompleted(status="failed" | "interrupted") | ev.CallReported(status="failed" | "interrupted"):
            code = event.error_code or event.status
            return "error", "call", code, f"{event.status} after {duration(event.duration_ms)}{_and_suspect(event)}"
        case ev.CallCompleted(error_code=str(code)) | ev.CallReported(error_code=str(code)):
            return "warning", "call", code, f"ended {event.status}{_and_suspect(event)}"
        case ev.CallCompleted() | ev.CallReported() if names := suspect_of(event):
            if any(
                one.call == event.call and one.code == SUSPECT_FIGURES for one in islice(reversed(before), _LOOK_BACK)
            ):
                return None
            return "warning", "call", SUSPECT_FIGURES, _wrong(names)
        case ev.CallSent(attempt=attempt) if attempt > 1:
            text = _REPEATED.get(event.reuse, "the request was sent again")
            return "recovered", "call", event.reuse, f"attempt {attempt}: {text}"
        case ev.ToolFinished(status=status) if status in _TOOL_TROUBLE:
            text = f"{one_line(event.name, 60)} {_TOOL_TROUBLE[status]} after {duration(event.duration_ms)}"
            return "warning", "tool", f"tool_{status}", text + _and_suspect(event)
        case ev.ToolFinished() if names := suspect_of(event):
            return "warning", "tool", SUSPECT_FIGURES, f"{one_line(event.name, 60)} {_wrong(names)}"
        case ev.ApprovalResolved() if names := suspect_of(event):
            return "warning", "tool", SUSPECT_FIGURES, f"an approval {_wrong(names)}"
        case ev.ConnectionReconnected():
            return "recovered", "connection", event.cause or "reconnected", "the socket was lost and opened again"
        case ev.ConnectionFallback():
            return "warning", "connection", event.cause or "fallback", "no socket; calls go over HTTP"
        case ev.TurnFinished(status="failed" | "interrupted"):
            if any(one.turn == event.turn and one.severity == "error" for one in islice(reversed(before), _LOOK_BACK)):
                return None
            return (
                "error",
                "turn",
                event.status,
                f"{event.status} after {duration(event.duration_ms)}{_and_suspect(event)}",
            )
        case ev.TurnFinished() if names := suspect_of(event):
            return "warning", "turn", SUSPECT_FIGURES, _wrong(names)
    return None


def _and_suspect(event: ev.Event) -> str:
    names = suspect_of(event)
    return f"; {_wrong(names)}" if names else ""


def _wrong(names: Sequence[str]) -> str:
    return f"reported figures that cannot be right: {figure_names(names)}"
