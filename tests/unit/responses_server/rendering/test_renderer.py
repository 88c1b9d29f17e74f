"""Rendered tokens: appended call by call or from scratch, they are the same; headers are kept by digest."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.responses_server.rendering.renderer import HEADERS_KEPT, INLINE_CHARS, KEPT_CHARS, Renderer
from agent_core.responses_server.rendering.tokenizer import SLICE_CHARS, Tokenizer
from agent_core.responses_server.request.toolset import NO_TOOLS, read_tool_set
from agent_core.wire.items import AnyItem, FunctionCall, FunctionCallOutput, Message, Reasoning, read_item

TOKENIZER = Tokenizer()

_texts = st.text(max_size=40)
_items: st.SearchStrategy[AnyItem] = st.one_of(
    st.builds(lambda role, text: Message(role=role, content=text), st.sampled_from(["user", "assistant"]), _texts),
    st.builds(lambda text: FunctionCall(name="read", arguments=text, call_id="c"), _texts),
    st.builds(lambda text: FunctionCallOutput(call_id="c", output=text), _texts),
    st.builds(lambda: Reasoning(id="rs_1", summary=[])),
    st.just(read_item(b'{"type":"of_the_future","note":"hello"}')),
)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(_items, max_size=4), max_size=5))
def test_appended_equals_from_scratch(calls: list[list[AnyItem]]) -> None:
    async def both() -> None:
        renderer = Renderer(TOKENIZER)
        appended: list[int] = []
        counts: list[int] = []
        for items in calls:
            rendered = await renderer.items(items)
            appended += rendered.tokens
            counts += rendered.text_tokens
        whole = await renderer.items([item for items in calls for item in items])
        assert appended == list(whole.tokens)
        assert counts == whole.text_tokens
        renderer.close()

    asyncio.run(both())


async def test_text_tokens_leave_the_template_out() -> None:
    renderer = Renderer(TOKENIZER)
    rendered = await renderer.items([Message(role="user", content="hello world")])
    assert rendered.text_tokens == [len(TOKENIZER.encode("hello world"))]
    assert len(rendered.tokens) > rendered.text_tokens[0]
    assert renderer.rendered_items == 1
    renderer.close()


async def test_long_texts_are_rendered_off_the_loop_and_equal() -> None:
    """Slicing is a function of the text alone, so where it runs makes no difference."""
    text = "def f(x):\n    return x + 1\n" * (SLICE_CHARS // 20)
    assert len(text) > max(INLINE_CHARS, SLICE_CHARS)
    renderer = Renderer(TOKENIZER)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    rendered = await renderer.items([Message(role="user", content=text)])
    ticking.cancel()
    assert ticks >= len(text) // SLICE_CHARS
    assert rendered.text_tokens == [len(TOKENIZER.encode(text))]
    renderer.close()


async def test_headers_are_kept_by_digest() -> None:
    tools = read_tool_set(b'[{"type":"function","name":"read","parameters":{}}]')
    renderer = Renderer(TOKENIZER)
    first = await renderer.header("be brief", tools)
    assert await renderer.header("be brief", tools) is first
    others = [
        await renderer.header(text, which)
        for text, which in (("be long", tools), ("be brief", NO_TOOLS), (None, tools))
    ]
    assert len({first.digest, *(header.digest for header in others)}) == 4
    assert len(first.tokens) > len(others[1].tokens) > 0
    for index in range(HEADERS_KEPT):
        await renderer.header(f"other {index}", NO_TOOLS)
    again = await renderer.header("be brief", tools)
    assert again is not first
    assert again == first
    renderer.close()


async def test_without_kept_headers_each_is_rendered_again() -> None:
    renderer = Renderer(TOKENIZER, keep=False)
    assert await renderer.header("be brief", NO_TOOLS) is not await renderer.header("be brief", NO_TOOLS)
    renderer.close()


class Counting(Tokenizer):
    """Counts the characters that are really tokenised."""

    def __init__(self) -> None:
        super().__init__()
        self.chars = 0

    def encode(self, text: str) -> list[int]:
        self.chars += len(text)
        return super().encode(text)


def said(number: int) -> Message:
    return Message(role="user", content=f"{number} " + "words " * (KEPT_CHARS // 5))


async def test_a_long_text_is_tokenised_once() -> None:
    tokenizer = Counting()
    renderer = Renderer(tokenizer)
    first = await renderer.items([said(1), said(2)])
    before = tokenizer.chars
    again = await renderer.items([said(2), said(1)])
    assert tokenizer.chars == before
    assert sorted(again.tokens) == sorted(first.tokens)
    assert again.text_tokens == first.text_tokens[::-1]
    renderer.close()


async def test_kept_texts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_core.responses_server.rendering.renderer.KEPT_TOKENS", 3_000)
    renderer = Renderer(TOKENIZER)
    for number in range(100):
        await renderer.items([said(number)])
    kept = renderer.kept_texts
    assert kept is not None
    assert 0 < kept.tokens <= 3_000
    assert 0 < len(kept) < 100
    renderer.close()


async def test_without_keeping_each_text_is_tokenised_again() -> None:
    tokenizer = Counting()
    renderer = Renderer(tokenizer, keep_texts=False)
    await renderer.items([said(1)])
    before = tokenizer.chars
    await renderer.items([said(1)])
    assert tokenizer.chars > before + KEPT_CHARS
    renderer.close()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 60_000), min_size=1, max_size=4), st.integers(0, 3))
def test_slices_make_no_difference(sizes: list[int], cut: int) -> None:
    """Texts of any length, appended anywhere, kept or not: the tokens are those of the texts one by one."""
    items = [Message(role="user", content=("é word " * (size // 7 + 1))[:size]) for size in sizes]

    async def rendered(renderer: Renderer, *parts: list[Message]) -> list[int]:
        found = [token for part in parts for token in (await renderer.items(part)).tokens]
        renderer.close()
        return found

    async def all_ways() -> None:
        one_by_one = await rendered(Renderer(TOKENIZER, keep_texts=False), *([item] for item in items))
        renderer = Renderer(TOKENIZER)
        await renderer.items(items)
        assert await rendered(renderer, items[:cut], items[cut:]) == one_by_one

    asyncio.run(all_ways())


async def test_long_work_of_two_lanes_takes_turns() -> None:
    """A text of some slices is done long before one of many that was begun earlier."""
    renderer = Renderer(TOKENIZER)
    await renderer.load()
    order: list[str] = []

    async def render(name: str, size: int) -> None:
        await renderer.items([Message(role="user", content=f"{name} words " * (size // 8))])
        order.append(name)

    await asyncio.gather(render("long", 1_500_000), render("short", 3 * INLINE_CHARS))
    assert order == ["short", "long"]
    renderer.close()
