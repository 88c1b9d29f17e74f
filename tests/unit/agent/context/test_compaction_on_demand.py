"""The conversation made shorter when somebody asks for it, and how large it is told to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.errors import UsageError
from agent_core.model.capabilities import ModelBook
from agent_core.turns.events import ContextSize
from tests.support.agent.session import working
from tests.support.model import events as make
from tests.support.model.scripted_service import Post, replies, running

SHORT = [make.user("hello"), {"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed"}]
SHORTER = Post(body={"object": "response.compaction", "output": SHORT})


def answer(n: int, tokens: int) -> list[dict[str, object]]:
    usage = make.USAGE | {"input_tokens": tokens, "output_tokens": 40}
    return make.ladder(f"resp_{n}", make.message("word " * 3_000, f"msg_{n}"), usage=usage)


async def test_between_two_turns_it_is_made_shorter_and_its_size_is_told(tmp_path: Path) -> None:
    book = ModelBook({"m": {"context_tokens": 10_000}})
    sockets = replies(make.warm("resp_w"), answer(1, 6_000), answer(2, 300))
    async with (
        running(sockets, posts=[SHORTER]) as service,
        working(service.base_url, tmp_path, book=book, compact_at=160_000) as work,
    ):
        assert (await work.session.run_turn("hello")).status == "completed"
        (first,) = work.seen(ContextSize)
        assert (first.tokens, first.window_tokens, first.estimated) == (6_040, 10_000, False)
        assert first.compact_at_tokens == 8_000
        assert await work.session.compact()
        second = work.seen(ContextSize)[-1]
        assert second.estimated and second.tokens < 200 and second.window_tokens == 10_000
        assert any("compacted by the service" in notice for notice in work.notices)
        assert (await work.session.run_turn("go on")).status == "completed"
        assert work.seen(ContextSize)[-1].tokens == 340
        assert service.creates[-1].previous is None and service.creates[-1].input[:2] == SHORT


async def test_what_is_short_already_stays_and_that_is_said(tmp_path: Path) -> None:
    same = Post(body={"object": "response.compaction", "output": [make.user("word " * 40_000)]})
    sockets = replies(make.warm("resp_w"), answer(1, 6_000))
    async with running(sockets, posts=[same]) as service, working(service.base_url, tmp_path) as work:
        await work.session.run_turn("hello")
        before = work.context
        assert not await work.session.compact()
        assert work.context == before and len(work.seen(ContextSize)) == 1
        assert any("can't be made much shorter" in notice for notice in work.notices)


async def test_not_while_a_turn_runs_and_not_once_it_is_closed(tmp_path: Path) -> None:
    async with running(replies(make.warm("resp_w"), answer(1, 6_000))) as service:
        async with working(service.base_url, tmp_path) as work:
            handle = work.session.start_turn("hello")
            with pytest.raises(UsageError) as refused:
                await work.session.compact()
            assert refused.value.code == "turn_running"
            await handle.done
        with pytest.raises(UsageError) as refused:
            await work.session.compact()
        assert refused.value.code == "session_closed"


async def test_a_session_that_is_taken_up_tells_its_size_at_once(tmp_path: Path) -> None:
    async with running(replies(make.warm("resp_w"), answer(1, 6_000)), replies(make.warm("resp_v"))) as service:
        async with working(service.base_url, tmp_path) as work:
            await work.session.run_turn("hello")
        async with working(service.base_url, tmp_path, resume="sess_1") as again:
            (size,) = again.seen(ContextSize)
            assert size.estimated and size.tokens > 5_000
