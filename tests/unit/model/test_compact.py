"""The service's standalone compaction, where it has one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_core.telemetry import events as ev
from tests.support.model import events as make
from tests.support.model.scripted_service import Post, Refuse, replies, running
from tests.support.model.session import talking

SHORT: list[dict[str, Any]] = [make.user("fix it"), {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}]
ANSWER = {"id": "resp_c", "object": "response.compaction", "output": SHORT, "usage": make.USAGE}


async def test_what_stands_for_the_conversation_comes_back_as_it_was_sent() -> None:
    async with running(posts=[Post(body=ANSWER)]) as service, talking(service.base_url) as talk:
        talk.say(make.user("old"), make.user("new"))
        talk.history.start = 1
        talk.options = {"prompt_cache_key": "sess_1"}
        items = await talk.session.compact(talk.request())
        (post,) = service.posts
    assert [json.loads(item) for item in items or ()] == SHORT
    assert post.body == {
        "model": "m",
        "instructions": "Be brief.",
        "prompt_cache_key": "sess_1",
        "input": [make.user("new")],
    }
    assert talk.told(ev.ConnectionOpened, "cause") == ["http"]


async def test_a_service_without_it_is_asked_once() -> None:
    async with running(posts=[Post(status=404)]) as service, talking(service.base_url) as talk:
        assert await talk.session.compact(talk.request()) is None
        assert await talk.session.compact(talk.request()) is None
        assert len(service.posts) == 1


@pytest.mark.parametrize(
    "post",
    [Post(status=503), Post(status=401), Post(body={"output": []}), Post(body={"id": 1}), Post(body={"output": 1})],
)
async def test_whatever_goes_wrong_is_no_error_and_may_be_tried_again(post: Post) -> None:
    async with running(posts=[post, Post(body=ANSWER)]) as service, talking(service.base_url) as talk:
        assert await talk.session.compact(talk.request()) is None
        assert await talk.session.compact(talk.request()) is not None
        assert len(service.posts) == 2


async def test_a_service_that_is_gone_compacts_nothing() -> None:
    async with running(Refuse(426), then=Refuse(426)) as service, talking(service.base_url) as talk:
        await service.stop_listening()
        assert await talk.session.compact(talk.request()) is None
        service._sockets.clear()


async def test_after_a_compaction_the_chain_starts_anew_with_what_stands_for_the_past() -> None:
    one, two = (make.ladder(f"resp_{n}", make.message(f"{n}", f"msg_{n}")) for n in (1, 2))
    async with (
        running(replies(one, two), posts=[Post(body=ANSWER)]) as service,
        talking(service.base_url) as talk,
    ):
        await talk.call(make.user("1"))
        items = await talk.session.compact(talk.request())
        assert items is not None
        talk.history.start = len(talk.history)
        talk.history.extend(items)
        await talk.call(make.user("2"))
        assert service.creates[1].previous is None
        assert service.creates[1].input == [*SHORT, make.user("2")]
    assert talk.told(ev.CallSent, "reuse") == ["first", "full_resend"]
