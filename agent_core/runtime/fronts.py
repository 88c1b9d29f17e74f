"""Several front ends of one session: each update goes to all of them, and one that fails is no harm to the others."""

from __future__ import annotations

import logging
from collections.abc import Callable

from agent_core.agent.updates import Front, Update

log = logging.getLogger(__name__)


class Fronts:
    """A `Front` that hands on to the fronts which were added, in that order."""

    def __init__(self, *fronts: Front) -> None:
        self._fronts: list[Front] = list(fronts)

    def __call__(self, update: Update) -> None:
        for front in tuple(self._fronts):
            try:
                front(update)
            except Exception as error:
                log.error("a front end failed with %s; it is left out from here on", type(error).__name__)
                self._fronts.remove(front)

    def add(self, front: Front) -> Callable[[], None]:
        """Add one; call what is returned to take it out again."""
        self._fronts.append(front)

        def remove() -> None:
            if front in self._fronts:
                self._fronts.remove(front)

        return remove
