"""Streams that are strange and do no harm: what each costs in connections and in full resends, once and always.

A session of six calls over WebSocket. The terminal event of the session's own response is the truth, so nothing but a
contradiction costs the chain; what was strange is told in the telemetry of the call that it befell.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from agent_core.telemetry import events as ev
from tests.support.model import events as make
from tests.support.model.scripted_service import Gone, Peer, running
from tests.support.model.session import Talk, talking

Json = dict[str, Any]
Oddity = Callable[[list[Json], list[Json]], list[Json]]
"""(the events of a response, those of the response before it) -> the events as a strange server sends them."""

CALLS = 6


def at(kind: str, events: list[Json]) -> int:
    return next((place for place, event in enumerate(events) if event["type"] == kind), 0)


def without(kind: str) -> Oddity:
    def change(events: list[Json], before: list[Json]) -> list[Json]:
        return [event for event in events if event["type"] != kind]

    return change


def renumbered(number: Callable[[int], int | None]) -> Oddity:
    def change(events: list[Json], before: list[Json]) -> list[Json]:
        return [event | {"sequence_number": number(place)} for place, event in enumerate(events)]

    return change


def repeated(kind: str, later: int = 0) -> Oddity:
    def change(events: list[Json], before: list[Json]) -> list[Json]:
        place = at(kind, events)
        return [*events[: place + 1 + later], events[place], *events[place + 1 + later :]]

    return change


def inserted(event: Json) -> Oddity:
    def change(events: list[Json], before: list[Json]) -> list[Json]:
        return [*events[:3], event, *events[3:]]

    return change


def tail(first: int, place: int) -> Oddity:
    """The earlier response's events from `first` on come amid this one, `place` events after its start."""

    def change(events: list[Json], before: list[Json]) -> list[Json]:
        return [*events[:place], *before[first:], *events[place:]]

    return change


def edited(kind: str, edit: Callable[[Json], None]) -> Oddity:
    def change(events: list[Json], before: list[Json]) -> list[Json]:
        changed: list[Json] = json.loads(json.dumps(events))  # items are shared between events otherwise
        for event in changed:
            if event["type"] == kind:
                edit(event)
        return changed

    return change


def new_ids(event: Json) -> None:
    event["item"]["id"] = f"other_{event['item']['id']}"


def new_response_id(event: Json) -> None:
    event["response"]["id"] += "_again"


def no_output(event: Json) -> None:
    event["response"]["output"] = []


def ids_in_the_end(event: Json) -> None:
    for item in event["response"]["output"]:
        item["id"] = f"end_{item['id']}"


def spaced(event: Json) -> None:
    for item in event["response"]["output"]:
        if "arguments" in item:
            item["arguments"] = json.dumps(json.loads(item["arguments"]), indent=1)


def another_text(event: Json) -> None:
    for item in event["response"]["output"]:
        if "content" in item:
            item["content"][0]["text"] = "something else"
        if "arguments" in item:
            item["arguments"] = '{"path":"elsewhere.py"}'


def half_output(event: Json) -> None:
    event["response"]["output"].pop()


DONE = "response.output_item.done"
END = "response.completed"

HARMLESS: dict[str, tuple[Oddity, str | None]] = {
    "a gap in the numbers": (renumbered(lambda n: n if n < 4 else n + 5), "number_gap"),
    "a gap behind each number": (renumbered(lambda n: 2 * n), "number_gap"),
    "numbers that go back": (renumbered(lambda n: n if n < 4 else n - 2), "number_repeated"),
    "numbers that start anew": (renumbered(lambda n: n % 4), "number_repeated"),
    "no numbers": (renumbered(lambda n: None), None),
    "one number for all": (renumbered(lambda n: 7), None),
    "an unknown event with a number of its own": (inserted({"type": "acme.note", "sequence_number": 900}), None),
    "an unknown event without a number": (inserted({"type": "acme.note"}), None),
    "response.created twice": (repeated("response.created"), "event_repeated"),
    "no response.created": (without("response.created"), "not_created"),
    "no response.in_progress": (without("response.in_progress"), "number_gap"),
    "a delta twice": (repeated("response.function_call_arguments.delta"), "number_repeated"),
    "output_item.added twice": (repeated("response.output_item.added"), "event_repeated"),
    "no output_item.added": (without("response.output_item.added"), "number_gap"),
    "output_item.done twice": (repeated(DONE), "event_repeated"),
    "output_item.done again at the end": (repeated(DONE, later=5), "event_repeated"),
    "no output_item.done": (without(DONE), "item_not_done"),
    "a delta behind its item": (repeated("response.reasoning_summary_text.delta", later=4), "event_late"),
    "no deltas": (without("response.function_call_arguments.delta"), "number_gap"),
    "items with another id when they are done": (edited(DONE, new_ids), None),
    "another response id at the end": (edited(END, new_response_id), "id_changed"),
    "no output in the terminal event": (edited(END, no_output), "output_missing"),
    "items with another id in the terminal event": (edited(END, ids_in_the_end), None),
    "arguments spaced anew in the terminal event": (edited(END, spaced), None),
    "the earlier response's tail before ours": (tail(4, 0), "foreign_event"),
    "the earlier response's tail amid ours": (tail(4, 5), "foreign_event"),
    "the whole earlier response before ours": (tail(0, 0), "foreign_event"),
    "the whole earlier response behind our start": (tail(0, 2), "foreign_event"),
}
"""What is strange, and the name that the call's telemetry has for it (None: nothing that is worth a word)."""

TAILS = [oddity for name, (oddity, _) in HARMLESS.items() if "earlier" in name]

CONTRADICTORY: dict[str, Oddity] = {
    "another content in the terminal event": edited(END, another_text),
    "a terminal event that lacks an item": edited(END, half_output),
    "a terminal event without the items that were never done": lambda events, before: edited(END, no_output)(
        without(DONE)(events, before), before
    ),
}


class StrangeService:
    """Answers like any other, but for the responses that `choose` picks oddities for."""

    def __init__(self, choose: Callable[[int], Sequence[Oddity]]) -> None:
        self._choose = choose
        self._before: list[Json] = []
        self.answered = 0

    async def socket(self, peer: Peer) -> None:
        held: str | None = None
        while not peer.gone.is_set():
            try:
                create = await peer.next()
            except Gone:
                return
            previous = create.get("previous_response_id")
            if previous is not None and previous != held:
                await peer.send(make.not_found(previous))
                continue
            number, self.answered = self.answered, self.answered + 1
            items = [make.reasoning(item_id=f"rs_{number}"), make.tool_call(f"call_{number}")]
            events = make.ladder(f"resp_{number}", *items)
            before, self._before = self._before, events
            sent = events
            for oddity in self._choose(number) if before else ():
                sent = oddity(sent, before)
                if oddity not in TAILS:
                    self._before = sent
            held = [event for event in sent if event["type"] == END][-1]["response"]["id"]
            await peer.send(*sent)


async def talk_through(service: StrangeService) -> tuple[Talk, int, int]:
    """Six calls; the session, and what they cost: connections, and creates without a previous response."""
    async with running(then=service.socket) as far, talking(far.base_url) as talk:
        result = await talk.call(make.user("begin"))
        for _ in range(CALLS - 1):
            called = json.loads(result.items[-1])
            assert called["type"] == "function_call"
            result = await talk.call(make.tool_output(called["call_id"]))
            kinds = [json.loads(item)["type"] for item in result.items]
            assert kinds == ["reasoning", "function_call"]
        far.violations.clear()  # it takes an earlier response's end for the last one's; the calls above are the check
    full = sum(create.previous is None for create in far.creates)
    return talk, len(talk.events(ev.ConnectionOpened)), full


@pytest.mark.parametrize("when", ["once", "always"])
@pytest.mark.parametrize("name", HARMLESS)
async def test_what_does_no_harm_costs_neither_connection_nor_resend(name: str, when: str) -> None:
    oddity, word = HARMLESS[name]
    service = StrangeService(lambda number: [oddity] if when == "always" or number == 2 else [])
    talk, connections, full = await talk_through(service)
    assert (connections, full) == (1, 1)
    told = [call.oddities or [] for call in talk.events(ev.CallCompleted)]
    strange = {2} if when == "once" else set(range(1, CALLS))
    for number, names in enumerate(told):
        if number not in strange:
            assert names == []
        elif word is not None:
            assert word in names


@pytest.mark.parametrize("name", CONTRADICTORY)
async def test_a_contradiction_costs_one_full_resend_on_the_same_connection(name: str) -> None:
    service = StrangeService(lambda number: [CONTRADICTORY[name]] if number == 2 else [])
    _, connections, full = await talk_through(service)
    assert (connections, full) == (1, 2)


NO_OUTPUT = "no output in the terminal event"
NOT_WITHOUT_OUTPUT = {"no output_item.done", "items with another id when they are done"} | {
    name for name in HARMLESS if "earlier" in name
}
"""What needs a complete terminal event to be told apart."""


async def mixed(seed: int) -> Counter[str]:
    """A session with a service that draws up to three oddities for each response; what was drawn."""
    die = random.Random(seed)
    drawn: Counter[str] = Counter()

    def choose(number: int) -> list[Oddity]:
        names = die.sample([*HARMLESS], die.randrange(4))
        if NO_OUTPUT in names and NOT_WITHOUT_OUTPUT & set(names):
            names.remove(NO_OUTPUT)
        drawn.update(names)
        # What comes of an earlier response comes as it was, so it is put in last.
        return [HARMLESS[name][0] for name in sorted(names, key=lambda name: "earlier" in name)]

    _, connections, full = await talk_through(StrangeService(choose))
    assert (connections, full) == (1, 1), f"seed {seed}: {dict(drawn)}"
    return drawn


@pytest.mark.parametrize("seed", range(12))
async def test_oddities_that_come_together_cost_nothing_either(seed: int) -> None:
    await mixed(seed)


@pytest.mark.soak
@pytest.mark.timeout(0)
async def test_a_thousand_sessions_with_mixed_oddities() -> None:
    drawn: Counter[str] = Counter()
    for seed in range(1000):
        drawn.update(await mixed(seed))
    print(f"\noddities: 1000 sessions, {sum(drawn.values())} oddities of {len(drawn)} kinds, no resend")
    assert set(drawn) == set(HARMLESS)
