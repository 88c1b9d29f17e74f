"""A context that grew too long: who shortens it, and what survives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.agent.calls import unanswered
from agent_core.agent.context.compaction import open_work, said_by_users, tail_of
from agent_core.agent.context.fragments import MAX_TOKENS, tokens_of
from agent_core.errors import ServiceError
from tests.support.agent.session import Worker, working
from tests.support.model import events as make
from tests.support.model.scripted_service import Post, ScriptedService, replies, running

BIG = "x" * 9_000
NO_ENDPOINT = Post(status=404)


def raw(item: dict[str, Any]) -> bytes:
    return json.dumps(item).encode()


def turn(number: int, calls: int) -> list[bytes]:
    """A user's message, then replies of reasoning and parallel calls with their outputs, then an answer."""
    items = [make.user(f"task {number}")]
    for n in range(calls):
        names = [f"call_{number}_{n}_{m}" for m in range(2)]
        items += [
            make.reasoning(item_id=f"rs_{number}_{n}"),
            *map(make.tool_call, names),
            *map(make.tool_output, names),
        ]
    return [raw(item) for item in [*items, make.message("done")]]


@given(st.lists(st.integers(min_value=0, max_value=4), max_size=4), st.integers(min_value=0, max_value=1500))
def test_a_tail_starts_with_a_reply_and_is_within_its_bound(calls: list[int], bound: int) -> None:
    context = [item for number, count in enumerate(calls) for item in turn(number, count)]
    tail = tail_of(context, bound)
    assert sum(map(tokens_of, tail)) <= bound
    kinds = [json.loads(item) for item in tail]
    called = {item["call_id"] for item in kinds if item["type"] == "function_call"}
    assert all(item["call_id"] in called for item in kinds if item["type"] == "function_call_output")
    assert unanswered(tail) == []
    for before, item in zip([None, *kinds], kinds, strict=False):
        if item["type"] == "function_call":
            assert before is not None and before["type"] in ("reasoning", "function_call")
    assert not any(item.get("role") == "user" for item in kinds)


def test_what_users_said_is_kept_newest_first_and_the_newest_always() -> None:
    said = [raw(make.user(f"{n} " + "word " * 1_000)) for n in range(12)]
    kept = said_by_users([*said[:6], raw(make.message("ok")), *said[6:]])
    assert kept == said[-len(kept) :] and 2 <= len(kept) < 12
    assert sum(map(tokens_of, kept)) <= MAX_TOKENS["said"]
    (only,) = said_by_users([raw(make.user("y " * 50_000))])
    assert tokens_of(only) <= MAX_TOKENS["said"] + 50


def reading(n: int, **fields: Any) -> list[dict[str, Any]]:
    return make.ladder(f"resp_{n}", make.reasoning(item_id=f"rs_{n}"), make.tool_call(f"call_{n}"), **fields)


def plan(n: int) -> list[dict[str, Any]]:
    steps = json.dumps({"steps": ["done: look", "doing: mend"]})
    return make.ladder(f"resp_{n}", make.tool_call(f"call_{n}", name="plan", arguments=steps))


def usage(tokens: int) -> dict[str, Any]:
    return make.USAGE | {"input_tokens": tokens}


END = make.ladder("resp_end", make.message("all done", "msg_end"))


def texts(items: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(item) for item in items)


async def test_the_services_standalone_compaction_takes_the_place_of_the_past(tmp_path: Path) -> None:
    short = [make.user("fix it"), {"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed"}]
    post = Post(body={"object": "response.compaction", "output": short})
    sockets = replies(make.warm("resp_w"), plan(1), reading(2, usage=usage(5_000)), END)
    async with running(sockets, posts=[post]) as service, working(service.base_url, tmp_path, compact_at=4_000) as work:
        (work.parts.roots[0] / "a.py").write_text("print()\n")
        outcome = await work.session.run_turn("fix it")
        assert outcome.status == "completed" and outcome.calls == 3
        last = service.creates[-1]
        assert last.previous is None and last.input[:2] == short
        assert len(service.posts[0].body["input"]) == len(work.items) - len(work.context)
    survivors = texts(last.input[2:])
    assert "doing: mend" in survivors and "a.py" in survivors
    assert any("compacted by the service" in notice for notice in work.notices)


async def _local(service: ScriptedService, tmp_path: Path) -> Worker:
    async with working(service.base_url, tmp_path, compact_at=4_000) as work:
        (work.parts.roots[0] / "a.py").write_text(BIG)
        assert (await work.session.run_turn("fix the parser")).status == "completed"
    return work


async def test_a_summary_of_the_models_where_the_service_has_none(tmp_path: Path) -> None:
    """The summary is asked for beside the conversation, over a connection of its own where there are no lanes."""
    summary = replies(make.ladder("resp_s", make.message("The bug is in line 7 of a.py.")))
    main = replies(make.warm("resp_w"), plan(1), reading(2, usage=usage(5_000)), END)
    async with running(main, summary, posts=[NO_ENDPOINT]) as service:
        work = await _local(service, tmp_path)
        asked, last = service.creates[-2:]
        assert asked.connection == 2 and last.connection == 1
        assert asked.body["tool_choice"] == "none" and asked.body["tools"] == last.body["tools"]
        assert "Write a summary for yourself" in texts(asked.input[-1:])
        assert asked.input[:-1] == work.items[: len(asked.input) - 1]
        assert last.previous is None
    kept = texts(last.input)
    for survivor in ("Workspace root", "fix the parser", "The bug is in line 7", "doing: mend", "a.py"):
        assert survivor in kept
    assert BIG not in kept
    assert any("compacted here" in notice for notice in work.notices)
    assert work.items[-len(work.context) :] == work.context


@pytest.mark.parametrize("silent", [True, False])
async def test_without_a_summary_the_oldest_part_is_left_out(tmp_path: Path, silent: bool) -> None:
    failing = make.ladder("resp_s", make.message(" ")) if silent else make.failed("resp_s", "invalid_prompt")
    rest = [reading(n, usage=usage(1_000)) for n in (2, 3)] + [reading(4, usage=usage(5_000))]
    main = replies(make.warm("resp_w"), plan(1), *rest, END)
    async with running(main, replies(failing), posts=[NO_ENDPOINT]) as service:
        work = await _local(service, tmp_path)
        last = service.creates[-1]
    kept = texts(last.input)
    assert "were left out" in kept and "fix the parser" in kept and "doing: mend" in kept
    outputs = [item["call_id"] for item in last.input if item["type"] == "function_call_output"]
    assert outputs == ["call_4"]
    assert [item["call_id"] for item in last.input if item["type"] == "function_call"] == outputs
    if not silent:
        assert any("no summary" in notice for notice in work.notices)


async def test_a_context_that_the_service_refuses_is_shortened_and_the_call_repeated(tmp_path: Path) -> None:
    too_long = [make.error("context_length_exceeded", message="too long")]
    main = replies(make.warm("resp_w"), *(reading(n) for n in range(4)), too_long, END)
    summary = replies(make.ladder("resp_s", make.message("So far so good.")))
    async with running(main, summary, posts=[NO_ENDPOINT]) as service, working(service.base_url, tmp_path) as work:
        (work.parts.roots[0] / "a.py").write_text(BIG)
        outcome = await work.session.run_turn("fix it")
        asked, last = service.creates[-2:]
    assert outcome.status == "completed"
    assert tokens_of(texts(asked.input)) < 0.7 * tokens_of(texts(service.creates[5].input) + BIG * 3)
    assert "So far so good." in texts(last.input)


async def test_a_context_that_can_not_be_shortened_is_an_error_and_no_loop(tmp_path: Path) -> None:
    too_long = [make.error("context_length_exceeded", message="too long")]
    main = replies(make.warm("resp_w"), too_long)
    silent = replies(make.ladder("resp_s"))
    async with running(main, silent, posts=[NO_ENDPOINT]) as service, working(service.base_url, tmp_path) as work:
        outcome = await work.session.run_turn("fix it")
        assert len(service.creates) == 3
    assert outcome.status == "failed" and isinstance(outcome.error, ServiceError)
    assert outcome.error.code == "context_length_exceeded"


async def test_a_compaction_inside_a_reply_keeps_the_chain_and_the_plan(tmp_path: Path) -> None:
    compaction = {"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed"}
    added = {"type": "response.output_item.added", "output_index": 0, "item": compaction}
    done = {"type": "response.output_item.done", "output_index": 0, "item": compaction}
    ladder = reading(2)
    body = [
        event | ({"output_index": event["output_index"] + 1} if "output_index" in event else {}) for event in ladder
    ]
    body[-1]["response"]["output"].insert(0, compaction)
    compacted = make.numbered([*body[:2], added, done, *body[2:]])

    async def script(peer: Any) -> None:
        await peer.answer(make.warm("resp_w"), plan(1), compacted, END)
        await peer.next()
        await peer.drop()

    again = replies(make.ladder("resp_5", make.message("again", "msg_5")))
    async with running(script, again) as service, working(service.base_url, tmp_path, in_band=True) as work:
        (work.parts.roots[0] / "a.py").write_text("x\n")
        assert (await work.session.run_turn("fix it")).status == "completed"
        assert service.creates[3].previous == "resp_2"
        assert "doing: mend" in texts(service.creates[3].input)
        assert (await work.session.run_turn("and now?")).status == "completed"
        full = service.creates[-1]
    assert full.previous is None
    assert full.input[0] == compaction
    assert "doing: mend" in texts(full.input)
    assert service.posts == []


async def test_the_size_is_as_counted_and_an_estimate_of_what_came_since(tmp_path: Path) -> None:
    main = replies(make.warm("resp_w"), make.ladder("resp_1", make.message("hi"), usage=usage(1_000)))
    async with running(main) as service, working(service.base_url, tmp_path) as work:
        compactor, history = work.parts.compactor, work.parts.history
        assert compactor.size() == sum(map(tokens_of, history.context()))
        await work.session.run_turn("hello")
        assert compactor.size() == 1_000 + make.USAGE["output_tokens"]
        history.append([raw(make.user("x" * 300))])
        assert 1_100 <= compactor.size() <= 1_200


@given(
    st.lists(st.integers(min_value=0, max_value=4), min_size=1, max_size=4), st.integers(0, 1500), st.integers(0, 400)
)
def test_work_in_the_middle_of_a_turn_is_whole_replies_with_their_reasoning(
    calls: list[int], most: int, most_of_one: int
) -> None:
    context = [item for number, count in enumerate(calls) for item in turn(number, count)][:-1]  # no answer yet
    work = open_work(context, most, most_of_one)
    assert sum(map(tokens_of, work)) <= max(most, most_of_one)
    if calls[-1] == 0:
        assert work == []
    kinds = [json.loads(item)["type"] for item in work]
    assert kinds == ["reasoning", *["function_call"] * 2, *["function_call_output"] * 2] * (len(kinds) // 5)
    assert work == context[len(context) - len(work) :]


async def test_a_summary_in_the_middle_of_a_turn_leaves_its_latest_reply_whole(tmp_path: Path) -> None:
    summary = replies(make.ladder("resp_s", make.message("The bug is in line 7 of a.py.")))
    rest = [reading(n, usage=usage(5_000 if n == 4 else 1_000)) for n in (2, 3, 4)]
    main = replies(make.warm("resp_w"), plan(1), *rest, END)
    async with running(main, summary, posts=[NO_ENDPOINT]) as service:
        await _local(service, tmp_path)
        last = service.creates[-1]
    kinds = [(item["type"], item.get("id")) for item in last.input if item["type"] in ("reasoning", "function_call")]
    assert last.previous is None and "line 7" in texts(last.input)
    assert [found for found in kinds if found[0] == "reasoning"] == [("reasoning", "rs_4")]
    sealed = next(item for item in last.input if item["type"] == "reasoning")
    assert sealed == make.reasoning(item_id="rs_4")
