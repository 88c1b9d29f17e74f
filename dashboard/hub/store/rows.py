"""Rows to records, and what is done about rows whose bytes were damaged: the same in every store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from dashboard.hub.store.records import Dims, FindingRecord, SourceRecord, TurnRecord

DIMS = msgspec.json.Decoder(Dims)
SOURCE = msgspec.json.Decoder(SourceRecord)
MAX_PLACED, MAX_DAMAGED = 50, 1_000
"""Damaged events whose day is looked for: at once, which reads whole days, and in all."""
log = logging.getLogger(__name__)
T = TypeVar("T")


def turn_of(row: tuple[Any, ...]) -> TurnRecord:
    return TurnRecord(
        team=row[0], turn=row[1], session=row[2], source=row[3], agent=row[4], project=row[5], model=row[6],
        status=row[7], reuse=row[8], started_us=row[9], ended_us=row[10], body=row[11],
    )  # fmt: skip


def finding_of(row: tuple[Any, ...]) -> FindingRecord:
    return FindingRecord(
        team=row[0], source=row[1], seq=row[2], at_us=row[3], severity=row[4], code=row[5], agent=row[6], turn=row[7],
        body=row[8],
    )  # fmt: skip


def decoded(decode: Callable[[Any], T], body: Any) -> T | None:
    """None for bytes that are damaged."""
    try:
        return decode(body)
    except (msgspec.MsgspecError, ValueError, TypeError):
        return None


class Damage:
    """What a person is to know of a store that is damaged, each thing once. Owns `notices`."""

    def __init__(self, store: str) -> None:
        """`store`: its name for a person."""
        self.notices: list[str] = []
        self._store = store
        self._told: set[str] = set()
        self._bodies: set[bytes] = set()

    def left_out(self, what: str, found: Sequence[object]) -> None:
        """Each None in `found` is a row whose bytes were changed; said once for each kind."""
        if lost := sum(one is None for one in found):
            self._tell(what, f"{self._store}: {lost} {what} are damaged and left out")

    def events(self, bodies: Sequence[bytes], holding: Callable[[Sequence[bytes]], Sequence[str]]) -> None:
        """Bodies of events that can't be read. `holding` names the days that have them, a file or a date each."""
        new = [body for body in bodies if body not in self._bodies][:MAX_PLACED]
        if len(self._bodies) > MAX_DAMAGED:
            return
        self._bodies.update(new)
        for day in holding(new):
            self._tell(day, f"{day}: events of this day are damaged and left out; what was counted stays counted")

    def _tell(self, once_for: str, text: str) -> None:
        if once_for not in self._told:
            self._told.add(once_for)
            self.notices.append(text)
            log.warning("%s", text)
