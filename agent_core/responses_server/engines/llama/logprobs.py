"""Log probabilities of a model's tokens, with the text that they became. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agent_core.responses_server.engine import Delta, Logprob, TextDelta, TopLogprob
from agent_core.responses_server.engines.llama import host

LEAST = -1e9
"""Stands for minus infinity, which JSON has no number for."""


class LogprobTeller:
    """`top`: alternatives to tell with each token; None: nothing is told.

    Tokens whose text is held back are told with the next text; those of calls and reasoning are not told at all.
    """

    def __init__(self, top: int | None) -> None:
        self._top = top
        self._waiting: list[Logprob] = []

    def with_logprobs(self, deltas: Sequence[Delta], chunk: host.Chunk) -> list[Delta]:
        """The deltas of a chunk, the first text among them with what is to be told."""
        if self._top is None:
            return list(deltas)
        self._waiting += [self._told(each) for each in chunk.completion_probabilities if each.bytes]
        done: list[Delta] = []
        for delta in deltas:
            if isinstance(delta, TextDelta):
                done.append(TextDelta(delta.text, tuple(self._waiting)))
            else:
                done.append(delta)
            self._waiting = []
        return done

    def _told(self, each: host.Logprob) -> Logprob:
        tops = tuple(TopLogprob(top.token, _number(top.logprob), tuple(top.bytes)) for top in each.top_logprobs)
        return Logprob(each.token, _number(each.logprob), tuple(each.bytes), tops[: self._top])


def _number(value: float | None) -> float:
    return value if value is not None and math.isfinite(value) else LEAST
