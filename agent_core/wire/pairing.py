"""Which output answers which call, by position. Pure.

A `call_id` is only what is echoed: servers repeat the ids of earlier rounds, give one id to several calls of a reply,
or none. So a call is known by its place in the conversation, and an output is for the oldest open call with its id in
the latest reply that has one.
"""

from __future__ import annotations

from collections.abc import Iterable


def pairs(ids: Iterable[tuple[str | None, str | None]]) -> dict[int, int]:
    """Position of each output to the position of its call. `ids`: of each item, oldest first, the id of the call that
    it is and of the call that it answers (None where it is no call, no output).

    A further output for a call that has one takes its place: then both are mapped to it. An output without a call is
    left out.
    """
    answers: dict[int, int] = {}
    open_calls: dict[str, list[tuple[int, int]]] = {}
    latest: dict[str, int] = {}
    reply, in_reply = 0, False
    for at, (called, answered) in enumerate(ids):
        if called is not None:
            reply += not in_reply
            in_reply = True
            open_calls.setdefault(called, []).append((reply, at))
        elif answered is not None:
            in_reply = False
            waiting = open_calls.get(answered)
            if waiting:
                newest = waiting[-1][0]
                place = next(place for place, each in enumerate(waiting) if each[0] == newest)
                latest[answered] = answers[at] = waiting.pop(place)[1]
            elif answered in latest:
                answers[at] = latest[answered]
    return answers
