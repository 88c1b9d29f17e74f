"""Runs the classifiers over the new items of a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from agent_core.responses_server.screening.port import ALLOWED, Classifier, Verdict
from agent_core.responses_server.slices import Slices

States = tuple[Any, ...]


class Screened(NamedTuple):
    """States behind some items, and the worst verdict of all classifiers (the first of equals)."""

    states: States
    verdict: Verdict


class Screens:
    """A fixed list of classifiers. `screened_items` counts what they were shown."""

    def __init__(self, classifiers: Sequence[Classifier]) -> None:
        self._classifiers = tuple(classifiers)
        self.screened_items = 0

    def initial(self) -> States:
        return tuple(classifier.initial() for classifier in self._classifiers)

    def screen(self, states: States, items: Sequence[Any]) -> Slices[Screened]:
        self.screened_items += len(items)
        after, worst = [], ALLOWED
        for classifier, state in zip(self._classifiers, states, strict=True):
            new_state, verdict = yield from classifier.screen(state, items)
            after.append(new_state)
            if verdict.action > worst.action:
                worst = verdict
        return Screened(tuple(after), worst)
