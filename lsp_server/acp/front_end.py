"""One client as the front end that a session works for: its user gives permissions, its files count."""

from __future__ import annotations

from collections.abc import Sequence

from agent_core.hosting.port import FrontEndGone
from agent_core.telemetry.display import visible
from agent_core.tools.editor.diagnostics import Diagnostic
from agent_core.turns.approval import Approval, Decision
from lsp_server.acp import tool_calls as calls
from lsp_server.acp.files import ClientFiles
from lsp_server.acp.greeting import Abilities
from lsp_server.acp.lines import Json
from lsp_server.acp.sdk import ClientLost, Peer, RequestError, schema

_OPTIONS: dict[Decision, tuple[str, str]] = {
    "allow": ("Allow", "allow_once"),
    "always": ("Always allow", "allow_always"),
    "deny": ("Deny", "reject_once"),
}


class AcpFrontEnd:
    """Implements `agent_core.hosting.port.FrontEnd`, of one session. `documents` None: the client shows no files."""

    name = "acp"

    def __init__(self, peer: Peer, can: Abilities) -> None:
        self._peer = peer
        self.documents: ClientFiles | None = ClientFiles(peer, can) if can.reads else None

    async def ask(self, approval: Approval) -> Decision | None:
        """Whatever is no clear yes is a no. Raises FrontEndGone."""
        try:
            answer = await self._peer.ask(
                "session/request_permission", permission(approval), schema.RequestPermissionResponse
            )
        except ClientLost:
            raise FrontEndGone("the client is gone") from None
        except RequestError:
            return "deny"
        if not isinstance(answer.outcome, schema.AllowedOutcome):
            return "deny"
        return next((each for each in offered(approval) if each == answer.outcome.option_id), "deny")

    async def diagnostics(self, path: str | None) -> Sequence[Diagnostic]:
        return ()


def offered(approval: Approval) -> list[Decision]:
    """`always` only where it would be kept."""
    return [decision for decision in _OPTIONS if approval.always or decision != "always"]


def permission(approval: Approval) -> Json:
    """What is asked: a short title, and all of it below."""
    whole = visible(approval.subject)
    return {
        "sessionId": approval.session_id,
        "toolCall": {
            "toolCallId": approval.tool_call_id or approval.approval_id,
            "title": calls.titled(approval.name, approval.subject),
            "kind": calls.kind_of(approval.name),
            "status": "pending",
            "content": [{"type": "content", "content": {"type": "text", "text": _words(whole, approval.rule)}}],
        },
        "options": [
            {"optionId": each, "name": _OPTIONS[each][0], "kind": _OPTIONS[each][1]} for each in offered(approval)
        ],
        "_meta": {"loopline": {"approvalId": approval.approval_id, "rule": approval.rule}},
    }


def _words(whole: str, rule: str) -> str:
    return f"{whole}\n\n{rule}" if rule else whole
