"""Whatever a model, a tool, a service or a file name says leaves for a client as text that nothing obeys.

Clients of the protocol run in terminals too, and print what they are given.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import msgspec
import pytest

from agent_core.errors import UsageError
from agent_core.turns.approval import Approval
from agent_core.turns.events import AnyTurnEvent, ToolEnded, TurnEnded
from agent_core.turns.question import Question
from lsp_server.acp.agent import answered, refusal
from lsp_server.acp.choices import Choices
from lsp_server.acp.front_end import choice_of, form_of, permission
from lsp_server.acp.replay import replayed
from lsp_server.acp.sdk import RequestError
from lsp_server.acp.session import Prompted
from lsp_server.acp.updates import Updates
from lsp_server.protocol.events import Call
from lsp_server.protocol.methods import Entry
from tests.support.system.hostile_text import HOSTILE, filled, trouble

EVENTS = get_args(AnyTurnEvent)
OF_CLIENTS = frozenset(
    {"sessionId", "toolCallId", "approvalId", "turnId", "callId", "questionId", "value", "currentValue"}
)
"""Ids and choices, which a client gives back as they are."""


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from () if key in OF_CLIENTS else texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


def check(told: Any) -> None:
    said = "\n".join(texts(json.loads(json.dumps(told))))
    assert said and not trouble(said.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("name", HOSTILE)
def test_every_field_of_every_event(name: str) -> None:
    given = HOSTILE[name]
    updates = Updates(lambda place: f"/work/{place}")
    for kind in EVENTS:
        event = filled(kind, given)
        for again in (
            (event, msgspec.structs.replace(event, arguments=json.dumps({given: given, "path": given})))
            if ("arguments" in event.__struct_fields__)
            else (event,)
        ):
            for update in updates.of(again):
                check(update)
    diff = f"--- a/{given}\n+++ b/{given}\n@@ -1 +1 @@\n-{given}\n+{given}\n"
    for update in updates.of(msgspec.structs.replace(filled(ToolEnded, given), diff=diff)):
        check(update)
    check(updates.figures(filled(Call, given)))


@pytest.mark.parametrize("name", HOSTILE)
def test_questions_answers_errors_and_what_is_told_again(name: str) -> None:
    given = HOSTILE[name]
    asked = permission(filled(Approval, given))
    check(asked)
    if name in ("bidi", "invisible", "overwrite"):
        spelled = asked["toolCall"]["content"][0]["content"]["text"]
        assert "\\u202e" in spelled or "\\u200b" in spelled or "\\rdangerous" in spelled
    question = filled(Question, given)
    check(form_of(question))
    check(choice_of(question))
    check(replayed([filled(Entry, given), Entry(kind="assistant", text=given, index=1)], lambda place: place))
    check(Choices(approve="ask", model=given, models=(given,)).described())
    ended = msgspec.structs.replace(filled(TurnEnded, given), status="failed")
    with pytest.raises(RequestError) as failed:
        answered(Prompted(ended, (filled(Call, given),)))
    check([str(failed.value), failed.value.data])
    wrong = refusal(UsageError(given, hint=given))
    check([str(wrong), wrong.data])


def test_a_difference_hides_nothing() -> None:
    """What a terminal would not show is what a person has to see."""
    changed = "access = 'user\u202e\u2066// only admins\u2069'\n"
    ended = msgspec.structs.replace(filled(ToolEnded, "x"), diff=f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+{changed}")
    (update,) = Updates(lambda place: place).of(ended)
    assert update["content"][0]["newText"] == "access = 'user\\u202e\\u2066// only admins\\u2069'\n"
