"""What Chat Completions servers demand of a request, and what their refusals teach: over a real socket."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from agent_core.errors import EngineError
from agent_core.responses_server.engine import EngineRequest, EngineTool, TextDelta, ToolCallStart
from agent_core.responses_server.engines.upstream.engine import UpstreamEngine
from agent_core.wire.items import CustomToolCall, FunctionCall, FunctionCallOutput, Message, Reasoning
from tests.support.engines.chat_shape import DONE, asks, fn, part
from tests.support.engines.upstream_requests import answer, engine_request
from tests.support.engines.upstream_server import Answer, Upstream, upstream

HELLO = Answer(events=[part(content="Hello"), part("stop"), DONE])


def call(call_id: str, path: str) -> FunctionCall:
    return FunctionCall(name="read", arguments=f'{{"path":"{path}"}}', call_id=call_id)


def user(text: str = "hi") -> Message:
    return Message(role="user", content=text)


def thought(text: str = "hm") -> Reasoning:
    return Reasoning(id="rs_1", summary=[Raw(b'{"type":"summary_text","text":"%b"}' % text.encode())])


async def ask(server: Upstream, *items: Any, engine: UpstreamEngine | None = None, **options: Any) -> list[Any]:
    far = engine or UpstreamEngine("far", f"{server.url}#m", {"api": "chat", **options})
    request: EngineRequest = engine_request(items=list(items) or [user()])
    try:
        return [delta async for delta in far.stream(request)]
    finally:
        if engine is None:
            await far.close()


def sent(server: Upstream) -> list[dict[str, Any]]:
    return list(server.bodies("/chat/completions")[-1]["messages"])


async def test_one_id_in_each_round_and_each_output_behind_its_own_call() -> None:
    """QwenLM/qwen-code#5107, NousResearch/hermes-agent#111443: `call_0` in every round."""
    rounds = [each for n in range(3) for each in (call("call_0", f"{n}.py"), answer("call_0", f"output {n}"))]
    async with upstream(chat=HELLO) as server:
        await ask(server, user(), *rounds)
        told = [message["content"] for message in sent(server) if message["role"] == "tool"]
    assert told == ["output 0", "output 1", "output 2"]


@pytest.mark.parametrize("call_id", ["", "same"])
async def test_two_calls_of_a_reply_with_one_id_or_none_are_told_apart(call_id: str) -> None:
    """can1357/oh-my-pi#2055, HKUDS/nanobot#3943."""
    items = [user(), call(call_id, "a"), call(call_id, "b"), answer(call_id, "A"), answer(call_id, "B")]
    async with upstream(chat=HELLO) as server:
        await ask(server, *items)
        messages = sent(server)
    ids = [each["id"] for each in messages[2]["tool_calls"]]
    assert len(set(ids)) == 2
    assert "" not in ids
    assert [(each["tool_call_id"], each["content"]) for each in messages[3:]] == [(ids[0], "A"), (ids[1], "B")]


async def test_an_id_of_an_earlier_round_is_given_to_no_new_call() -> None:
    events = [asks(index=0, id="call_0", function=fn("read", "{}")), part("tool_calls"), DONE]
    async with upstream(chat=Answer(events=events)) as server:
        deltas = await ask(server, user(), call("call_0", "a"), answer("call_0", "A"))
    assert [delta.call_id for delta in deltas if isinstance(delta, ToolCallStart)] == [None]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_goes_back_with_the_calls_that_it_led_to(field: str) -> None:
    """earendil-works/pi#3636, abhigyanpatwari/GitNexus#43: else 400 at the second request."""
    events = [part(**{field: "hm"}), asks(index=0, id="c", function=fn("read", "{}")), part("tool_calls"), DONE]
    async with upstream(chat=[Answer(events=events), HELLO]) as server:
        engine = UpstreamEngine("far", f"{server.url}#m", {"api": "chat"})
        await ask(server, engine=engine)
        await ask(server, user(), thought(), call("c", "a"), answer("c"), engine=engine)
        await engine.close()
        assert sent(server)[2][field] == "hm"


async def test_instructions_are_one_system_message_at_the_start() -> None:
    """mcowger/plexus#77, earendil-works/pi#1048."""
    items = [
        Message(role="developer", content="Mind the tests."),
        user(),
        Message(role="developer", content="Be quick."),
    ]
    async with upstream(chat=HELLO) as server:
        await ask(server, *items)
        messages = sent(server)
    assert [message["role"] for message in messages] == ["system", "user", "user"]
    assert messages[0]["content"] == "Be kind.\n\nMind the tests."
    assert messages[2]["content"] == "Be quick."


async def test_what_a_model_got_wrong_is_an_object_when_it_goes_back() -> None:
    """NousResearch/hermes-agent#3468: servers refuse arguments that are no JSON."""
    broken = FunctionCall(name="read", arguments="path=a", call_id="c")
    async with upstream(chat=HELLO) as server:
        await ask(server, user(), broken, answer("c", "no JSON object"))
        assert sent(server)[2]["tool_calls"][0]["function"]["arguments"] == '{"input":"path=a"}'


async def test_no_tools_are_no_field_and_a_schema_has_properties() -> None:
    """vllm-project/vllm#39780, runebookai/tome#87."""
    async with upstream(chat=HELLO) as server:
        engine = UpstreamEngine("far", f"{server.url}#m", {"api": "chat"})
        bare = EngineTool(name="go", parameters={"type": "object"})
        for tools in ((), (bare,)):
            request = engine_request(tools=tools, offered=tools)
            assert [delta async for delta in engine.stream(request)]
        await engine.close()
        without, with_one = server.bodies("/chat/completions")
    assert "tools" not in without
    assert with_one["tools"][0]["function"] == {"name": "go", "parameters": {"type": "object", "properties": {}}}


def refuse(unless: Any) -> Any:
    """A server that answers 400 to every request that `unless` does not hold for."""
    return lambda body: None if unless(body) else Answer(400, body={"error": {"message": "no", "type": "bad"}})


def alternates(body: Any) -> bool:
    roles = [message["role"] for message in body["messages"] if message["role"] in ("user", "assistant")]
    return all(one != other for one, other in zip(roles, roles[1:], strict=False))


DEMANDS: dict[str, tuple[Any, list[Any]]] = {
    "user and assistant take turns": (alternates, [user("a"), user("b")]),
    "no stream_options": (lambda body: "stream_options" not in body, [user()]),
    "no null content": (
        lambda body: all(message["content"] is not None for message in body["messages"]),
        [user(), call("c", "a"), answer("c")],
    ),
    "no reasoning": (
        lambda body: not any("reasoning_content" in message for message in body["messages"]),
        [user(), thought(), call("c", "a"), answer("c")],
    ),
    "one call a reply": (
        lambda body: all(len(message.get("tool_calls", ())) < 2 for message in body["messages"]),
        [user(), call("c", "a"), call("d", "b"), answer("c"), answer("d")],
    ),
    "no role tool": (
        lambda body: all(message["role"] != "tool" for message in body["messages"]),
        [user(), call("c", "a"), answer("c")],
    ),
}


@pytest.mark.parametrize("name", DEMANDS)
async def test_a_refusal_teaches_what_a_server_takes_and_it_is_kept(name: str) -> None:
    """eclipse-theia/theia#17104, QuantumNous/new-api#5330, vercel/ai#14888, openai/openai-python#2296."""
    takes, items = DEMANDS[name]
    async with upstream(chat=HELLO) as server:
        server.judge = refuse(takes)
        engine = UpstreamEngine("far", f"{server.url}#m", {"api": "chat"})
        for _ in range(2):
            deltas = await ask(server, *items, engine=engine)
            assert [delta.text for delta in deltas if isinstance(delta, TextDelta)] == ["Hello"]
        await engine.close()
        bodies = server.bodies("/chat/completions")
    assert [takes(body) for body in bodies].count(True) == 2, "the second call is right at once"
    assert takes(bodies[-1])
    assert takes(bodies[-2])
    assert len(bodies) <= 8


async def test_a_refusal_that_names_a_field_costs_that_field() -> None:
    """voideditor/void#128, agentjido/req_llm#8."""
    refusal = Answer(400, body={"error": {"message": "no", "param": "max_tokens", "code": "unsupported_parameter"}})
    async with upstream(chat=HELLO) as server:
        server.judge = lambda body: refusal if "max_tokens" in body else None
        engine = UpstreamEngine("far", f"{server.url}#m", {"api": "chat"})
        assert [delta async for delta in engine.stream(engine_request(max_output_tokens=9))]
        await engine.close()
        assert server.bodies("/chat/completions")[-1]["max_completion_tokens"] == 9


@pytest.mark.parametrize("status", [401, 402, 429, 503])
async def test_what_another_form_can_not_mend_is_asked_once(status: int) -> None:
    async with upstream(chat=Answer(status, body={"error": {"message": "They said so"}})) as server:
        with pytest.raises(EngineError):
            await ask(server)
        assert len(server.bodies("/chat/completions")) == 1


async def test_a_server_that_refuses_everything_is_told_of_by_its_first_refusal() -> None:
    async with upstream(chat=Answer(400, body={"error": {"message": "They said so"}})) as server:
        with pytest.raises(EngineError, match="They said so") as failure:
            await ask(server)
    assert failure.value.code == "upstream_refused"


async def test_custom_calls_have_arguments() -> None:
    items = [
        user(),
        CustomToolCall(name="apply", input="text", call_id="c"),
        FunctionCallOutput(call_id="c", output="ok"),
    ]
    async with upstream(chat=HELLO) as server:
        await ask(server, *items)
        assert sent(server)[2]["tool_calls"][0]["function"]["arguments"] == '{"input":"text"}'
