"""The state that a status line shows: by category, with a severity and something to do about it."""

from __future__ import annotations

from agent_core.turns import events as up
from agent_core.turns.events import Severity
from lsp_server.documents.documents import uri_of
from lsp_server.editor import Editor
from lsp_server.protocol.events import Category, Command, Status
from lsp_server.protocol.methods import Nothing
from lsp_server.rpc.routes import Routes

_OF_STATE = (up.SessionOpened, up.TurnBegan, up.TurnEnded, up.ApprovalAsked, up.ApprovalEnded, up.Notice)
_CONNECTION = {
    "none": "not connected yet",
    "connected": "connected over a WebSocket",
    "http": "no WebSocket to be had, using HTTP",
    "closed": "the connection was closed; the next call opens one",
}


def register(editor: Editor, routes: Routes) -> None:
    last: list[Status] = []

    def tell() -> None:
        now = current(editor)
        if not last or last[0] != now:
            last[:] = [now]
            editor.events.put(now)

    def updated(session: str, event: up.TurnEvent) -> None:
        if isinstance(event, _OF_STATE):
            tell()

    async def status(asked: Nothing) -> Status:
        return current(editor)

    editor.bus.started.add(tell)
    editor.bus.configured.add(tell)
    editor.bus.updated.add(updated)
    routes.on_request("loopline/status", Nothing, status)


def current(editor: Editor) -> Status:
    """As it is now."""
    return Status(
        categories=(
            _model(editor),
            _connection(editor),
            _turn(editor),
            _approvals(editor),
            _settings(editor),
            *_trust(editor),
        )
    )


def _model(editor: Editor) -> Category:
    endpoint = editor.desk.endpoint()
    if endpoint is None:
        text = "no folder is open" if not editor.roots else "the settings name no model"
        return Category(category="model", state="none", severity="warning", text=text)
    text = f"{endpoint.model} ({endpoint.note})" if endpoint.note else endpoint.model
    command = Command(title="Choose a model", command="loopline.model.select", arguments=({},))
    return Category(category="model", state=endpoint.model, severity="info", text=text, command=command)


def _connection(editor: Editor) -> Category:
    state = editor.connection_state
    severity: Severity = "warning" if state == "http" else "info"
    return Category(category="connection", state=state, severity=severity, text=_CONNECTION.get(state, state))


def _turn(editor: Editor) -> Category:
    running = [turn for session in editor.desk.sessions.values() for turn in session.view().turns if not turn.is_over]
    if not running:
        return Category(category="turn", state="idle", severity="info", text="nothing runs")
    turn = running[0]
    command = Command(title="Stop", command="loopline.turn.cancel", arguments=({"turnId": turn.turn_id},))
    more = f" and {len(running) - 1} more" if len(running) > 1 else ""
    return Category(category="turn", state="running", severity="info", text=f"{turn.title}{more}", command=command)


def _approvals(editor: Editor) -> Category:
    waiting = [found for session in editor.desk.sessions.values() for found in session.view().approvals]
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


def _settings(editor: Editor) -> Category:
    problems = editor.settings.problems
    if not problems:
        return Category(category="settings", state="ok", severity="info", text="settings are in order")
    return Category(category="settings", state="problems", severity="warning", text="; ".join(problems))


def _trust(editor: Editor) -> list[Category]:
    """Nothing while no folder is open."""
    if not editor.roots:
        return []
    untrusted = next((root for root in editor.roots if not editor.trusts(f"{root}/")), None)
    if untrusted is None:
        return [Category(category="trust", state="trusted", severity="info", text="the folders are trusted")]
    command = Command(title="Trust", command="loopline.trust", arguments=({"uri": uri_of(str(untrusted))},))
    text = f"{untrusted.name} is not trusted: it configures and starts nothing by itself"
    return [Category(category="trust", state="untrusted", severity="info", text=text, command=command)]
