"""What leaves on the wire from call to call: deltas, resends, warm-ups."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest

from agent_core.errors import ServiceError
from agent_core.model.port import CallResult, CallStarted, ItemDone, ItemStarted, Reconnecting, Restarted, TextDelta
from agent_core.telemetry import events as ev
from tests.support.model import events as make
from tests.support.model.scripted_service import Peer, replies, running
from tests.support.model.session import Talk, talking


def reuse(talk: Talk) -> list[str]:
    return talk.told(ev.CallSent, "reuse")


async def test_one_handshake_and_every_call_after_the_first_sends_only_what_is_new() -> None:
    think, act = make.reasoning(), make.tool_call()
    script = replies(
        make.ladder("resp_1", think, act),
        make.ladder("resp_2", make.tool_call("call_2")),
        make.ladder("resp_3", make.message("done")),
    )
    async with running(script) as service, talking(service.base_url) as talk:
        await talk.call(make.user("fix it"))
        await talk.call(make.tool_output("call_1"))
        result = await talk.call(make.tool_output("call_2"))
        assert len(service.handshakes) == 1
        assert [(create.previous, create.input) for create in service.creates] == [
            (None, [make.user("fix it")]),
            ("resp_1", [make.tool_output("call_1")]),
            ("resp_2", [make.tool_output("call_2")]),
        ]
        assert talk.told(ev.CallSent, "bytes_up") == [create.size for create in service.creates]
    assert result.response_id == "resp_3"
    assert (result.reuse, result.attempts, result.finish_reason) == ("reused", 1, "stop")
    assert reuse(talk) == ["first", "reused", "reused"]
    assert talk.told(ev.CallSent, "input_items") == [1, 1, 1]
    assert talk.told(ev.CallCompleted, "finish_reason") == ["tool_calls", "tool_calls", "stop"]
    assert talk.told(ev.CallCompleted, "call") == ["call_1", "call_2", "call_3"]


async def test_the_fixed_fields_go_with_every_create_and_ask_for_what_a_resend_needs() -> None:
    script = replies(make.ladder("resp_1", make.message("a")), make.ladder("resp_2", make.message("b")))
    async with running(script) as service, talking(service.base_url) as talk:
        await talk.call(make.user("1"))
        await talk.call(make.user("2"))
        for create in service.creates:
            assert create.body["store"] is False
            assert create.body["include"] == ["reasoning.encrypted_content"]
            assert create.body["instructions"] == "Be brief."
            assert create.body["tools"] == [{"type": "function", "name": "read"}]
        headers = service.handshakes[0].headers
        assert headers["Authorization"] == "Bearer sk-test"
        assert headers["x-responsesapi-include-timing-metrics"] == "true"


async def test_what_is_streamed() -> None:
    text = make.message("hello")
    async with running(replies(make.ladder("resp_1", text))) as service, talking(service.base_url) as talk:
        result = await talk.call(make.user("hi"))
    assert talk.seen[:4] == [
        CallStarted(1, "first", "websocket"),
        ItemStarted("msg_1", "message", None),
        TextDelta("hel"),
        TextDelta("lo"),
    ]
    (done,) = [item for item in talk.seen if isinstance(item, ItemDone)]
    assert [done.raw] == result.items
    assert json.loads(done.raw) == text


async def test_other_fields_are_a_full_resend_on_the_same_socket() -> None:
    script = replies(make.ladder("resp_1", make.message("a")), make.ladder("resp_2", make.message("b")))
    async with running(script) as service, talking(service.base_url) as talk:
        await talk.call(make.user("1"))
        talk.instructions = "Be long."
        await talk.call(make.user("2"))
        assert [create.previous for create in service.creates] == [None, None]
        assert service.creates[1].input == [make.user("1"), make.message("a"), make.user("2")]
        assert len(service.handshakes) == 1
    assert reuse(talk) == ["first", "full_resend"]


async def test_a_lost_chain_is_one_full_resend_inside_the_same_call_on_the_same_socket() -> None:
    """Effect-TS/effect#8355 does it, openai/codex reconnects: nothing ran, so it is no retry and no error."""
    think = make.reasoning(encrypted="gAAAA-secret-thoughts")
    script = replies(
        make.ladder("resp_1", think, make.tool_call()),
        [make.not_found("resp_1")],
        make.ladder("resp_2", make.message("done")),
    )
    async with running(script) as service, talking(service.base_url) as talk:
        await talk.call(make.user("fix it"))
        result = await talk.call(make.tool_output())
        assert len(service.handshakes) == 1
        assert [create.previous for create in service.creates] == [None, "resp_1", None]
        assert service.creates[2].input == [make.user("fix it"), think, make.tool_call(), make.tool_output()]
    assert (result.attempts, result.reuse) == (2, "not_found")
    assert not [item for item in talk.seen if isinstance(item, Reconnecting | Restarted)]
    assert talk.clock.slept_s == []
    assert reuse(talk) == ["first", "reused", "not_found"]
    assert talk.told(ev.CallSent, "attempt") == [1, 1, 2]
    assert talk.told(ev.CallCompleted, "status") == ["completed", "completed"]
    assert result.bytes_up == sum(create.size for create in service.creates[1:])


async def test_an_error_that_started_nothing_keeps_chain_and_socket() -> None:
    script = replies(
        make.ladder("resp_1", make.message("a")),
        [make.error("invalid_prompt", message="not this")],
        make.ladder("resp_2", make.message("b")),
    )
    async with running(script) as service, talking(service.base_url) as talk:
        await talk.call(make.user("1"))
        with pytest.raises(ServiceError) as caught:
            await talk.call(make.user("2"))
        await talk.call(make.user("3"))
        assert len(service.handshakes) == 1
        assert service.creates[2].previous == "resp_1"
        assert service.creates[2].input == [make.user("2"), make.user("3")]
    assert caught.value.code == "invalid_prompt"
    assert reuse(talk) == ["first", "reused", "reused"]
    assert talk.told(ev.CallCompleted, "error_code") == [None, "invalid_prompt", None]


async def test_a_chain_that_our_failed_continuation_evicted_is_named_so() -> None:
    script = replies(
        make.ladder("resp_1", make.message("a")),
        [make.error("invalid_prompt")],
        [make.not_found("resp_1")],
        make.ladder("resp_2", make.message("b")),
    )
    async with running(script) as service, talking(service.base_url) as talk:
        await talk.call(make.user("1"))
        with pytest.raises(ServiceError):
            await talk.call(make.user("2"))
        await talk.call(make.user("3"))
        assert len(service.handshakes) == 1
    assert reuse(talk) == ["first", "reused", "reused", "evicted"]


async def test_a_failed_response_keeps_its_code_its_id_and_the_socket_but_not_the_chain() -> None:
    """pipecat-ai/pipecat#5575: response.failed dropped code and id, and nobody decided about the socket."""
    script = replies(
        make.ladder("resp_1", make.message("a")),
        make.failed("resp_2", "bio_policy", "refused"),
        make.ladder("resp_3", make.message("b")),
    )
    async with running(script) as service, talking(service.base_url) as talk:
        await talk.call(make.user("1"))
        with pytest.raises(ServiceError) as caught:
            await talk.call(make.user("2"))
        await talk.call(make.user("3"))
        assert len(service.handshakes) == 1
        assert service.creates[2].previous is None
    assert (caught.value.code, caught.value.message) == ("bio_policy", "refused")
    assert talk.events(ev.CallCompleted)[1].response_id == "resp_2"
    assert reuse(talk) == ["first", "reused", "full_resend"]


async def test_an_incomplete_response_is_a_result_that_can_be_continued() -> None:
    cut = make.ladder(
        "resp_1", make.message("half"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    )
    async with (
        running(replies(cut, make.ladder("resp_2", make.message("b")))) as service,
        talking(service.base_url) as talk,
    ):
        result = await talk.call(make.user("1"))
        await talk.call(make.user("go on"))
        assert service.creates[1].previous == "resp_1"
    assert (result.status, result.finish_reason) == ("incomplete", "max_output_tokens")


async def test_a_response_without_an_id_is_a_result_that_can_not_be_continued() -> None:
    """Oaklight/llm-rosetta#56: completed without id."""
    events = [{"type": "response.created", "response": {}}, *make.item_ladder(0, make.message("a"))]
    events += [{"type": "response.completed", "response": {"status": "completed"}}]
    async with (
        running(replies(events, make.ladder("resp_2", make.message("b")))) as service,
        talking(service.base_url) as talk,
    ):
        result = await talk.call(make.user("1"))
        await talk.call(make.user("2"))
        assert [create.previous for create in service.creates] == [None, None]
    assert (result.response_id, len(result.items), result.usage) == ("", 1, None)


async def test_items_that_come_while_a_call_runs_belong_to_the_next() -> None:
    go = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.next()
        first = make.ladder("resp_1", make.message("a"))
        await peer.send(*first[:2])
        await go.wait()
        await peer.send(*first[2:])
        await peer.answer(make.ladder("resp_2", make.message("b")))
        await peer.left()

    async with running(script) as service, talking(service.base_url) as talk:
        talk.say(make.user("1"))
        async with contextlib.aclosing(talk.session.call(talk.request())) as stream:
            assert isinstance(await anext(stream), CallStarted)
            late = make.user("by the way")
            go.set()
            results = [item async for item in stream if isinstance(item, CallResult)]
        talk.history.extend(results[0].items)
        await talk.call(late)
        assert [create.input for create in service.creates] == [[make.user("1")], [late]]


async def test_items_that_come_while_a_call_is_repeated_do_not_slip_into_it() -> None:
    go = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.next()
        await go.wait()
        await peer.drop()

    again = replies(make.ladder("resp_1", make.message("a")), make.ladder("resp_2", make.message("b")))
    async with running(script, again) as service, talking(service.base_url) as talk:
        talk.say(make.user("1"))
        late = make.user("by the way")
        results: list[CallResult] = []
        async with contextlib.aclosing(talk.session.call(talk.request())) as stream:
            async for item in stream:
                if isinstance(item, CallStarted) and item.attempt == 1:
                    talk.say(late)
                    go.set()
                if isinstance(item, CallResult):
                    results.append(item)
        assert [create.input for create in service.creates] == [[make.user("1")]] * 2
        # The late item stands before the answer in this history, so the next call goes in full.
        talk.history.extend(results[0].items)
        await talk.call(make.user("2"))
        assert service.creates[2].input == [make.user("1"), late, make.message("a"), make.user("2")]


async def test_a_warm_up_takes_what_is_known_and_the_first_call_pays_for_its_own_words() -> None:
    """decolua/9router#3440, vm0-ai/vm0#26475: a warm-up is nobody's answer and nobody's usage."""
    script = replies(make.warm("warm_1"), make.ladder("resp_1", make.message("a")))
    async with running(script) as service, talking(service.base_url) as talk:
        talk.say(make.user("the rules of this house"))
        assert await talk.session.prewarm(talk.request())
        result = await talk.call(make.user("1"))
        warm, first = service.creates
        assert (warm.body["generate"], warm.input) == (False, [make.user("the rules of this house")])
        assert ("generate" in first.body, first.previous, first.input) == (False, "warm_1", [make.user("1")])
        assert len(service.handshakes) == 1
    assert result.response_id == "resp_1"
    assert result.usage is not None
    assert result.usage.output_tokens == 7
    assert talk.told(ev.CallSent, "warmup") == [True, False]
    assert reuse(talk) == ["first", "reused"]
    assert len(talk.events(ev.ConnectionPrewarmed)) == 1


async def test_a_warm_up_before_anything_was_said() -> None:
    script = replies(make.warm("warm_1"), make.ladder("resp_1", make.message("a")))
    async with running(script) as service, talking(service.base_url) as talk:
        assert await talk.session.prewarm(talk.request())
        await talk.call(make.user("1"))
        assert [(create.previous, len(create.input)) for create in service.creates] == [(None, 0), ("warm_1", 1)]


async def test_fields_that_do_not_bind_never_break_the_chain_of_a_warm_up() -> None:
    """Wei-Shaw/sub2api#5307: warm-up to turn was judged "non-input changed"."""
    script = replies(make.warm("warm_1"), make.ladder("resp_1", make.message("a")))
    async with running(script) as service, talking(service.base_url) as talk:
        talk.options = {"client_metadata": {"turn": "0"}}
        await talk.session.prewarm(talk.request())
        talk.options = {"client_metadata": {"turn": "1"}, "stream_options": {"include_obfuscation": False}}
        await talk.call(make.user("1"))
        assert service.creates[1].previous == "warm_1"
        assert service.creates[1].body["client_metadata"] == {"turn": "1"}


async def test_a_service_that_samples_a_warm_up_is_not_continued_from_it() -> None:
    """router-for-me/CLIProxyAPI#6006: `generate: false` ran a real generation."""
    script = replies(make.ladder("resp_0", make.message("you said nothing")), make.ladder("resp_1", make.message("a")))
    async with running(script) as service, talking(service.base_url) as talk:
        assert not await talk.session.prewarm(talk.request())
        result = await talk.call(make.user("1"))
        assert service.creates[1].previous is None
        assert len(service.handshakes) == 1
    assert result.response_id == "resp_1"


async def test_a_service_that_knows_no_warm_up_is_used_without() -> None:
    """router-for-me/CLIProxyAPI#1901, mudler/LocalAI#11608: "Unsupported parameter: generate"."""
    script = replies([make.error("unsupported_parameter", param="generate")], make.ladder("resp_1", make.message("a")))
    async with running(script) as service, talking(service.base_url) as talk:
        assert not await talk.session.prewarm(talk.request())
        assert (await talk.call(make.user("1"))).response_id == "resp_1"
        assert len(service.handshakes) == 1
    assert talk.clock.slept_s == []


async def test_a_call_waits_for_the_warm_up_that_runs() -> None:
    script = replies(make.warm("warm_1"), make.ladder("resp_1", make.message("a")))
    async with running(script) as service, talking(service.base_url) as talk:
        warming = asyncio.create_task(talk.session.prewarm(talk.request()))
        await asyncio.sleep(0)
        await talk.call(make.user("1"))
        assert await warming
        assert service.creates[1].previous == "warm_1"
