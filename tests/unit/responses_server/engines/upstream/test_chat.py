from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from agent_core.errors import EngineError
from agent_core.responses_server.engines.chat_turns import UNANSWERED, chat_turns
from agent_core.responses_server.engines.upstream.chat import chat_body
from agent_core.responses_server.engines.upstream.settings import UpstreamSettings
from agent_core.wire.items import AnyItem, Message, Reasoning
from tests.support.engines.upstream_requests import GO, answer, called_upstream, engine_request

SMALL = UpstreamSettings(url="http://h/v1", model="m")
OPENAI = UpstreamSettings(url="https://api.openai.com/v1", model="m")


def body(settings: UpstreamSettings = SMALL, slot: int | None = None, **fields: Any) -> dict[str, Any]:
    return chat_body(engine_request(**fields), settings, "key-1", slot)


def test_a_conversation_with_a_call() -> None:
    items: list[AnyItem] = [
        Message(role="user", content="hi"),
        Reasoning(summary=[]),
        Message(role="assistant", content="I look."),
        called_upstream(arguments='{"a": 1}'),
        answer(),
    ]
    function = {"name": "car__go", "arguments": '{"a": 1}'}
    assert body(items=items)["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
    ]


def test_every_call_gets_its_answer_right_behind_it() -> None:
    late: list[AnyItem] = [
        called_upstream("c1"),
        called_upstream("c2"),
        Message(role="user", content="stop"),
        answer("c2", "late"),
    ]
    turns = chat_turns(None, late)
    assert [(turn.role, turn.call_id, turn.text) for turn in turns] == [
        ("assistant", None, ""),
        ("tool", "c1", UNANSWERED),
        ("tool", "c2", "late"),
        ("user", None, "stop"),
    ]


@pytest.mark.parametrize("call_id", ["same", "", None])
def test_rounds_without_a_word_between_stay_apart(call_id: str | None) -> None:
    """What was sent before stays as it is, else a server evaluates it anew and takes the rounds for one reply."""
    items: list[AnyItem] = [Message(role="user", content="hi")]
    sent: list[list[dict[str, Any]]] = []
    for number in range(3):
        ids = [f"c{number}{place}" if call_id is None else call_id for place in range(2)]
        items += [called_upstream(call_id=each) for each in ids]
        items += [answer(each, f"{number}{place}") for place, each in enumerate(ids)]
        sent.append(body(items=items)["messages"])
    assert [len(message.get("tool_calls", ())) for message in sent[-1]] == [0, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0]
    assert [message["content"] for message in sent[-1] if message["role"] == "tool"] == [
        "00",
        "01",
        "10",
        "11",
        "20",
        "21",
    ]
    assert sent[1][: len(sent[0])] == sent[0]
    assert sent[2][: len(sent[1])] == sent[1]


def test_images_and_files() -> None:
    parts = [
        Raw(b'{"type":"input_text","text":"what?"}'),
        Raw(b'{"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"low"}'),
        Raw(b'{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AA=="}'),
    ]
    content = body(items=[Message(role="user", content=parts)])["messages"][1]["content"]
    assert content == [
        {"type": "text", "text": "what?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="}},
    ]


def test_content_that_no_chat_can_carry() -> None:
    for part in (b'{"type":"input_hologram"}', b'{"type":"input_image"}'):
        with pytest.raises(EngineError) as failure:
            body(items=[Message(role="user", content=[Raw(part)])])
        assert failure.value.code == "unsupported_content"


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"type": "text"}, None),
        ({"type": "json_object"}, {"type": "json_object"}),
        (
            {"type": "json_schema", "name": "a", "schema": {"type": "object"}, "strict": True, "description": None},
            {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}, "strict": True}},
        ),
    ],
)
def test_the_form_of_the_answer(given: dict[str, Any], sent: dict[str, Any] | None) -> None:
    assert body(text_format=given).get("response_format") == sent


def test_limits_by_the_name_that_the_server_knows() -> None:
    assert body(max_output_tokens=5)["max_tokens"] == 5
    assert body(OPENAI, max_output_tokens=5)["max_completion_tokens"] == 5


def test_reasoning_and_affinity() -> None:
    sent = body(slot=1, reasoning={"effort": "low"})
    assert (sent["reasoning_effort"], sent["id_slot"], sent["cache_prompt"]) == ("low", 1, True)
    assert (sent["prompt_cache_key"], "id_slot" in body()) == ("key-1", False)


def test_what_only_this_server_knows_is_added_and_changes_nothing_else() -> None:
    settings = UpstreamSettings(url="http://h/v1", model="m", extra={"top_k": 5, "model": "other", "temperature": 1})
    sent = chat_body(engine_request(temperature=0), settings, None, None)
    assert (sent["top_k"], sent["model"], sent["temperature"]) == (5, "m", 0)


def test_tools_and_the_choice_among_them() -> None:
    assert "tool_choice" not in body()
    assert body(tools=())["tool_choice"] == "none"
    assert body(must_call=True)["tool_choice"] == "required"
    named = body(OPENAI, tools=(GO,), must_call=True)
    assert named["tool_choice"] == {"type": "function", "function": {"name": "car__go"}}
    assert body(max_tool_calls=1)["parallel_tool_calls"] is False
    assert "tools" not in body(tools=(), offered=())
