"""The state that a status line shows: by category, with a severity and something to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core.turns import events as up
from agent_core.turns.events import Severity
from lsp_server.documents.documents import uri_of
from lsp_server.protocol.events import Category, Command, Status
from lsp_server.protocol.methods import Nothing

if TYPE_CHECKING:
    from lsp_server.server import LoopServer

_OF_STATE = (up.SessionOpened, up.TurnBegan, up.TurnEnded, up.ApprovalAsked, up.ApprovalEnded, up.Notice)
_CONNECTION = {
    "none": "not connected yet",
    "connected": "connected over a WebSocket",
    "http": "no WebSocket to be had, using HTTP",
    "closed": "the connection was closed; the next call opens one",
}


def register(server: LoopServer) -> None:
    last: list[Status] = []

    def tell() -> None:
        now = current(server)
        if not last or last[0] != now:
            last[:] = [now]
            server.events.put(now)

    def updated(session: str, event: up.TurnEvent) -> None:
        if isinstance(event, _OF_STATE):
            tell()

    async def status(asked: Nothing) -> Status:
        return current(server)

    server.when_started.append(tell)
    server.when_configured.append(tell)
    server.when_updated.append(updated)
    server.on_request("loopline/status", Nothing, status)


def current(server: LoopServer) -> Status:
    """As it is now."""
    return Status(
        categories=(
            _model(server),
            _connection(server),
            _turn(server),
            _approvals(server),
            _settings(server),
            *_trust(server),
        )
    )


def _model(server: LoopServer) -> Category:
    endpoint = server.desk.endpoint()
    if endpoint is None:
        text = "no folder is open" if not server.roots else "the settings name no model"
        return Category(category="model", state="none", severity="warning", text=text)
    text = f"{endpoint.model} ({endpoint.note})" if endpoint.note else endpoint.model
    command = Command(title="Choose a model", command="loopline.model.select", arguments=({},))
    return Category(category="model", state=endpoint.model, severity="info", text=text, command=command)


def _connection(server: LoopServer) -> Category:
    state = server.connection_state
    severity: Severity = "warning" if state == "http" else "info"
    return Category(category="connection", state=state, severity=severity, text=_CONNECTION.get(state, state))


def _turn(server: LoopServer) -> Category:
    running = [turn for session in server.desk.sessions.values() for turn in session.view().turns if not turn.is_over]
    if not running:
        return Category(category="turn", state="idle", severity="info", text="nothing runs")
    turn = running[0]
    command = Command(title="Stop", command="loopline.turn.cancel", arguments=({"turnId": turn.turn_id},))
    more = f" and {len(running) - 1} more" if len(running) > 1 else ""
    return Category(category="turn", state="running", severity="info", text=f"{turn.title}{more}", command=command)


def _approvals(server: LoopServer) -> Category:
    waiting = [found for session in server.desk.sessions.values() for found in session.view().approvals]
    if not waiting:
        return Category(category="approvals", state="none", severity="info", text="no approval waits")
    first = waiting[0]
    command = Command(
        title="Allow",
        command="loopline.approval.answer",
        arguments=({"approvalId": first.approval_id, "decision": "allow"},),
    )
    text = f"{len(waiting)} wait for approval, first {first.name}: {first.subject[:200]}"
    return Category(category="approvals", state="waiting", severity="warning", text=text, command=command)


def _settings(server: LoopServer) -> Category:
    problems = server.settings.problems
    if not problems:
        return Category(category="settings", state="ok", severity="info", text="settings are in order")
    return Category(category="settings", state="problems", severity="warning", text="; ".join(problems))


def _trust(server: LoopServer) -> list[Category]:
    """Nothing while no folder is open."""
    if not server.roots:
        return []
    untrusted = next((root for root in server.roots if not server.trusts(f"{root}/")), None)
    if untrusted is None:
        return [Category(category="trust", state="trusted", severity="info", text="the folders are trusted")]
    command = Command(title="Trust", command="loopline.trust", arguments=({"uri": uri_of(str(untrusted))},))
    text = f"{untrusted.name} is not trusted: it configures and starts nothing by itself"
    return [Category(category="trust", state="untrusted", severity="info", text=text, command=command)]
