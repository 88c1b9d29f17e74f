"""The scripted engine: its fixed behaviour, and rollouts played strictly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent_core.errors import ConfigError, EngineError
from agent_core.responses_server.engine import (
    Delta,
    EngineRequest,
    EngineTool,
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from agent_core.responses_server.engines.scripted.engine import ANSWER, SLOW_S, ScriptedEngine, turns_spoken
from agent_core.responses_server.engines.scripted.script import Rollout, read_rollout
from agent_core.wire.items import FunctionCall, FunctionCallOutput, Message, Reasoning


class HandClock:
    """Time passes only by sleeping."""

    def __init__(self) -> None:
        self.now_ns = 0

    def wall_ns(self) -> int:
        return self.now_ns

    def mono_ns(self) -> int:
        return self.now_ns

    async def sleep(self, delay_s: float) -> None:
        self.now_ns += round(delay_s * 1e9)


USER = Message(role="user", content="go")
CALL = FunctionCall(name="read", arguments="{}", call_id="c1")
OUTPUT = FunctionCallOutput(call_id="c1", output="ok")
READ = EngineTool(
    name="read", parameters={"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}}
)
PATCH = EngineTool(name="patch", kind="custom")


def request(*items: Any, **changes: Any) -> EngineRequest:
    base: dict[str, Any] = {
        "response_id": "resp_1",
        "model": "scripted",
        "instructions": None,
        "items": items or (USER,),
        "first_new": 0,
        "tokens": (),
        "tools": (),
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "memory": {},
    }
    return EngineRequest(**{**base, **changes})


async def run(engine: ScriptedEngine, asked: EngineRequest) -> list[Delta]:
    return [delta async for delta in engine.stream(asked)]


def text(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


@pytest.mark.parametrize(
    ("asked", "called"),
    [
        (request(USER, tools=(PATCH, READ)), "read"),
        (request(USER), None),
        (request(USER, tools=(PATCH,)), None),
        (request(USER, tools=(), tool_choice="none"), None),
        (request(USER, CALL, OUTPUT, tools=(READ,)), None),
        (request(USER, CALL, OUTPUT, tools=(READ,), must_call=True, tool_choice="required"), "read"),
        (request(USER, tools=(PATCH,), must_call=True, tool_choice="required"), "patch"),
    ],
)
async def test_without_a_file(asked: EngineRequest, called: str | None) -> None:
    deltas = await run(ScriptedEngine(None, HandClock()), asked)
    starts = [delta.name for delta in deltas if isinstance(delta, ToolCallStart)]
    assert starts == ([called] if called else [])
    assert text(deltas) == ("" if called else ANSWER)
    assert deltas[-1] == Finish()


async def test_arguments_fit_the_schema() -> None:
    deltas = await run(ScriptedEngine(None, HandClock()), request(USER, tools=(READ,)))
    arguments = "".join(delta.text for delta in deltas if isinstance(delta, ToolCallDelta))
    assert msgspec.json.decode(arguments) == {"path": "example"}


async def test_json_where_json_is_asked_for() -> None:
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    asked = request(text_format={"type": "json_schema", "name": "x", "schema": schema})
    assert msgspec.json.decode(text(await run(ScriptedEngine(None, HandClock()), asked))) == {"n": 1}
    assert text(await run(ScriptedEngine(None, HandClock()), request(text_format={"type": "json_object"}))) == "{}"


async def test_slow_takes_three_seconds() -> None:
    clock = HandClock()
    deltas = await run(ScriptedEngine(None, clock), request(model="scripted:slow"))
    assert text(deltas) == ANSWER
    assert clock.now_ns / 1e9 == pytest.approx(SLOW_S, rel=0.05)


ROLLOUT: dict[str, Any] = {
    "tokens_per_s": 10,
    "steps": [
        {
            "expect": {"last": "message", "contains": "go", "model": "scripted"},
            "delay_ms": 500,
            "output": [
                {"reasoning": "let me see"},
                {"function_call": {"name": "read", "arguments": {"path": "a"}, "call_id": "c1"}},
                {"custom_tool_call": {"name": "patch", "input": "*** x"}},
            ],
        },
        {"tokens_per_s": 0, "output": [{"text": "half "}, {"pause_ms": 250}], "finish": "max_output_tokens"},
        {"output": [{"fail": {"code": "server_is_overloaded", "message": "busy"}}]},
    ],
}


def rollout(**changes: Any) -> Rollout:
    return msgspec.convert({**ROLLOUT, **changes}, Rollout)


async def test_a_rollout_is_played_step_by_step() -> None:
    clock = HandClock()
    engine = ScriptedEngine(rollout(), clock)
    deltas = await run(engine, request(USER))
    assert "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta)) == "let me see"
    assert [(d.name, d.kind, d.call_id) for d in deltas if isinstance(d, ToolCallStart)] == [
        ("read", "function", "c1"),
        ("patch", "custom", None),
    ]
    assert "".join(delta.text for delta in deltas if isinstance(delta, ToolCallDelta)) == '{"path":"a"}*** x'
    words = 3 + 1 + 2
    assert clock.now_ns / 1e9 == pytest.approx(0.5 + words / 10, rel=0.01)

    deltas = await run(engine, request(USER, CALL, OUTPUT))
    assert text(deltas) == "half "
    assert deltas[-1] == Finish(reason="max_output_tokens")
    assert clock.now_ns / 1e9 == pytest.approx(0.5 + words / 10 + 0.25, rel=0.01)

    with pytest.raises(EngineError) as caught:
        await run(engine, request(USER, CALL, OUTPUT, Message(role="assistant", content="x"), USER))
    assert caught.value.code == "server_is_overloaded"
    await engine.close()


async def test_strict_about_calls_it_does_not_foresee() -> None:
    engine = ScriptedEngine(rollout(steps=ROLLOUT["steps"][:1]), HandClock())
    for asked in (
        request(Message(role="user", content="stop")),
        request(OUTPUT),
        request(USER, model="scripted:other"),
    ):
        with pytest.raises(EngineError) as caught:
            await run(engine, asked)
        assert caught.value.code == "rollout_mismatch"
    with pytest.raises(EngineError) as caught:
        await run(engine, request(USER, CALL, OUTPUT))
    assert caught.value.code == "rollout_unexpected_call"


async def test_strict_about_steps_that_were_never_played() -> None:
    engine = ScriptedEngine(rollout(), HandClock())
    await run(engine, request(USER))
    with pytest.raises(EngineError) as caught:
        await engine.close()
    assert caught.value.code == "rollout_unconsumed"
    assert "[1, 2]" in caught.value.message
    await ScriptedEngine(None, HandClock()).close()


def test_turns_are_counted_with_and_without_memory() -> None:
    items = [USER, Reasoning(id="r"), CALL, CALL, OUTPUT, OUTPUT, Message(role="assistant", content="x"), USER]
    assert turns_spoken(items, {}) == 2
    memory: dict[str, Any] = {}
    assert [turns_spoken(items[:end], memory) for end in (1, 3, 5, 7, 8)] == [0, 1, 1, 2, 2]
    assert turns_spoken(items[:2], memory) == 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", "truncated"),
        ('{"steps":[{"output":[{"text":"a","reasoning":"b"}]}]}', "exactly one"),
        ('{"steps":[{"output":[{}]}]}', "exactly one"),
        ('{"steps":[],"speed":1}', "speed"),
        ('{"steps":[{"output":[{"text":1}]}]}', "$.steps[0].output[0].text"),
    ],
)
def test_bad_files_say_where(tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / "rollout.json"
    path.write_text(content)
    with pytest.raises(ConfigError) as caught:
        read_rollout(path)
    assert str(path) in caught.value.message
    assert expected in caught.value.message


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        read_rollout(tmp_path / "none.json")
