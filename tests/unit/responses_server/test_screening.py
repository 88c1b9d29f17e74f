"""Screening: incremental verdicts equal verdicts over everything; the media rules."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.responses_server.screening.chain import Screens
from agent_core.responses_server.screening.media import CODE, MediaScreen
from agent_core.responses_server.screening.port import ALLOWED, Action, Verdict
from agent_core.wire.codec import to_raw
from agent_core.wire.items import AnyItem, FunctionCallOutput, InputFile, InputImage, InputText, Message

PNG = base64.b64encode(b"\x89PNG" + bytes(40)).decode()
GOOD_URL = f"data:image/png;base64,{PNG}"


def image(url: str) -> Message:
    return Message(role="user", content=[to_raw(InputText(text="see")), to_raw(InputImage(image_url=url))])


def verdict(*items: AnyItem, max_bytes: int = 1000) -> Verdict:
    return MediaScreen(max_bytes).screen(None, items)[1]


@pytest.mark.parametrize(
    "url",
    [
        GOOD_URL,
        GOOD_URL.rstrip("="),
        "https://example.com/a.png",
        "data:image/svg+xml;charset=utf-8;base64,QUJD",
        "DATA:image/png;base64,QUJD",
    ],
)
def test_media_let_through(url: str) -> None:
    assert verdict(image(url)) == ALLOWED


@pytest.mark.parametrize(
    "url",
    [
        "data:,hello",
        "data:image/png,raw",
        "data:;base64,QUJD",
        "data:image/png;base64,",
        "data:image/png;base64,a",
        "data:image/png;base64,====",
        "data:image/png;base64,QU JD",
        "data:image/png;base64,QUJD€",
        "data:image/png;base64," + "A" * 2000,
    ],
)
def test_media_blocked_wherever_it_stands(url: str) -> None:
    file = Message(role="user", content=[to_raw(InputFile(file_data=url, filename="a"))])
    output = FunctionCallOutput(call_id="c", output=[to_raw(InputImage(image_url=url))])
    for item in (image(url), file, output):
        found = verdict(Message(role="user", content="hi"), item)
        assert (found.action, found.code) == (Action.BLOCK, CODE)
        assert url not in found.message


class Counting:
    """Blocks at the third word of a conversation; its state is the count."""

    name = "counting"

    def initial(self) -> int:
        return 0

    def screen(self, state: int, items: Sequence[Any]) -> tuple[int, Verdict]:
        state += sum(len(item.content.split()) for item in items)
        return state, Verdict(Action.BLOCK, "too_many", "") if state >= 3 else ALLOWED


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["", "one", "one two"]), max_size=6), st.lists(st.integers(0, 6), max_size=3))
def test_incremental_equals_everything(texts: list[str], cuts: list[int]) -> None:
    items = [Message(role="user", content=text) for text in texts]
    screens = Screens([MediaScreen(), Counting()])
    whole_states, whole = screens.screen(screens.initial(), items)
    states, worst = screens.initial(), ALLOWED
    edges = sorted({0, *(min(cut, len(items)) for cut in cuts), len(items)})
    for start, stop in zip(edges, edges[1:], strict=False):
        states, found = screens.screen(states, items[start:stop])
        worst = max(worst, found, key=lambda one: one.action)
    assert states == whole_states
    assert worst == whole


def test_the_worst_verdict_wins_and_items_are_counted() -> None:
    screens = Screens([MediaScreen(), Counting()])
    _, found = screens.screen(screens.initial(), [image("data:,x"), Message(role="user", content="a b c")][1:])
    assert found.code == "too_many"
    assert screens.screened_items == 1
