"""One client as the front end that a session works for: its user gives permissions and answers, its files count.

A question of the model is a form where the client shows forms. Elsewhere its options are offered as permissions are,
and one without options has no answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_core.hosting.port import FrontEndGone
from agent_core.telemetry.display import one_line, shown, visible
from agent_core.tools.editor.diagnostics import Diagnostic
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.question import Question
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


ANSWER, OTHER, NO_ANSWER = "answer", "other", "none"
"""Fields of a form, and the option that is no answer."""


class AcpFrontEnd:
    """Implements `agent_core.hosting.port.FrontEnd` and `agent_core.turns.question.Replier`, of one session.
    `documents` None: the client shows no files."""

    name = "acp"
    answers = True

    def __init__(self, peer: Peer, can: Abilities) -> None:
        self._peer, self._can = peer, can
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

    async def put(self, question: Question) -> str | None:
        """Raises nothing: a client that can't ask, or is gone, has no answer."""
        try:
            if self._can.forms:
                form = await self._peer.ask("elicitation/create", form_of(question), schema.AcceptElicitationResponse)
                return answer_of(form.content or {})
            if not question.options:
                return None
            asked = choice_of(question)
            chosen = await self._peer.ask("session/request_permission", asked, schema.RequestPermissionResponse)
        except (ClientLost, RequestError):
            return None
        named = chosen.outcome.option_id if isinstance(chosen.outcome, schema.AllowedOutcome) else NO_ANSWER
        return dict(enumerated(question)).get(named)

    async def diagnostics(self, path: str | None) -> Sequence[Diagnostic]:
        return ()


def offered(approval: Approval) -> list[Decision]:
    """`always` only where it would be kept."""
    return [decision for decision in _OPTIONS if approval.always or decision != "always"]


def permission(approval: Approval) -> Json:
    """What is asked: a short title, and all of it below."""
    whole, rule = visible(approval.subject), shown(approval.rule)
    return {
        "sessionId": approval.session_id,
        "toolCall": {
            "toolCallId": approval.tool_call_id or approval.approval_id,
            "title": calls.titled(approval.name, approval.subject),
            "kind": calls.kind_of(approval.name),
            "status": "pending",
            "content": [{"type": "content", "content": {"type": "text", "text": _words(whole, rule)}}],
        },
        "options": [
            {"optionId": each, "name": _OPTIONS[each][0], "kind": _OPTIONS[each][1]} for each in offered(approval)
        ],
        "_meta": {"loopline": {"approvalId": approval.approval_id, "rule": rule}},
    }


def _words(whole: str, rule: str) -> str:
    return f"{whole}\n\n{rule}" if rule else whole


def form_of(question: Question) -> Json:
    """A question as a form with one field; with options a second one takes any other words."""
    if question.options:
        fields: Json = {
            ANSWER: {"type": "string", "title": "Answer", "enum": list(dict.fromkeys(map(one_line, question.options)))},
            OTHER: {"type": "string", "title": "Or in your own words"},
        }
        required: list[str] = []
    else:
        fields, required = {ANSWER: {"type": "string", "title": "Answer"}}, [ANSWER]
    return {
        "sessionId": question.session_id,
        "mode": "form",
        "message": visible(question.question),
        "requestedSchema": {"type": "object", "properties": fields, "required": required},
        "_meta": {"loopline": {"questionId": question.question_id}},
    }


def answer_of(content: Mapping[str, Any]) -> str | None:
    """The user's own words before the option that was chosen; None: neither."""
    for field in (OTHER, ANSWER):
        said = content.get(field)
        if isinstance(said, str) and said.strip():
            return said.strip()
    return None


def enumerated(question: Question) -> list[tuple[str, str]]:
    return [(str(number), option) for number, option in enumerate(question.options, 1)]


def choice_of(question: Question) -> Json:
    """A question with options, in the words of a permission."""
    choices = [
        {"optionId": number, "name": one_line(option, 200), "kind": "allow_once"}
        for number, option in enumerated(question)
    ]
    text = {"type": "text", "text": visible(question.question)}
    return {
        "sessionId": question.session_id,
        "toolCall": {
            "toolCallId": question.question_id,
            "title": one_line(question.question, calls.MAX_TITLE),
            "kind": "other",
            "status": "pending",
            "content": [{"type": "content", "content": text}],
        },
        "options": [*choices, {"optionId": NO_ANSWER, "name": "No answer", "kind": "reject_once"}],
        "_meta": {"loopline": {"questionId": question.question_id}},
    }
