"""A question of the model to a person, and who can be asked. Records, no I/O."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import msgspec

from agent_core.turns.events import QuestionAsked


class Question(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An open question, as every front end and the control socket carry it. `options` are answers to choose from; any
    other text is an answer as well. `opened`: since when, RFC 3339."""

    question_id: str
    session_id: str
    turn_id: str
    question: str
    options: tuple[str, ...] = ()
    opened: str = ""


def question_of(asked: QuestionAsked) -> Question:
    """The open question that an event tells of."""
    return Question(
        question_id=asked.question_id,
        session_id=asked.session_id,
        turn_id=asked.turn_id,
        question=asked.question,
        options=asked.options,
    )


@runtime_checkable
class Replier(Protocol):
    """A front end whose user can be asked something in words."""

    @property
    def answers(self) -> bool:
        """Whether somebody can answer here at the moment."""

    async def put(self, question: Question) -> str | None:
        """None: no answer. Cancelled once somebody else answered."""
