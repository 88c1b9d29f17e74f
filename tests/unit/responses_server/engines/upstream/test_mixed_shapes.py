"""What servers do, drawn together by seeds: each answer says what was said, each failure fails."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from agent_core.errors import ConnectionLost, ServiceError
from agent_core.responses_server.engine import (
    Delta,
    EngineTool,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from agent_core.responses_server.engines.chat_turns import FlatTools
from agent_core.responses_server.engines.upstream.chunks import ChunkReader
from tests.support.engines.chat_mixed import TOOLS, Said, cut, mixed
from tests.support.engines.chat_shape import DONE

OFFERED = FlatTools([EngineTool(name=name, parameters={}) for name in TOOLS])


def read(events: list[Any], *, orderly: bool = True) -> tuple[list[Delta], ChunkReader]:
    """As the poster does: until `[DONE]`, then the end."""
    reader, deltas = ChunkReader(OFFERED), []
    for event in events:
        if event == DONE:
            break
        deltas += reader.read(event.encode() if isinstance(event, str) else json.dumps(event).encode())
    return deltas + reader.end(done=DONE in events, orderly=orderly), reader


def told(deltas: list[Delta]) -> tuple[str, str, list[tuple[str, Any]]]:
    calls: list[tuple[str, str]] = []
    for delta in deltas:
        if isinstance(delta, ToolCallStart):
            calls.append((delta.name, ""))
        elif isinstance(delta, ToolCallDelta):
            calls[-1] = (calls[-1][0], calls[-1][1] + delta.text)
    text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    reasoning = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
    return text, reasoning, [(name, json.loads(arguments)) for name, arguments in calls]


def wrong(said: Said) -> str:
    """What is not as it was said, "" for nothing."""
    deltas, reader = read(said.events)
    if told(deltas) != (said.text, said.reasoning, said.calls):
        return f"{told(deltas)} for {(said.text, said.reasoning, said.calls)}"
    finish = reader.finish()
    if finish.reason != said.reason:
        return f"reason {finish.reason} for {said.reason}"
    if said.counted and (finish.input_tokens, finish.output_tokens) != (9, 2):
        return "the usage is lost"
    return ""


def play(seeds: Iterable[int]) -> Counter[str]:
    """Plays answers, counted by habit. Fails at the first that is misread."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        said = mixed(seed)
        try:
            fault = wrong(said)
        except (ValueError, ServiceError, ConnectionLost) as error:
            fault = f"{type(error).__name__}: {error}"
        assert not fault, f"seed {seed}: {fault}\n{said.habits}\n" + "\n".join(map(str, said.events))
        seen.update(f"{name}: {habit}" for name, habit in said.habits.items())
    return seen


def play_cuts(seeds: Iterable[int]) -> None:
    for seed in seeds:
        events, how = cut(seed)
        with pytest.raises(ServiceError if how == "error" else ConnectionLost):
            read([event for event in events if event != DONE] if how == "breaks" else events, orderly=False)
            pytest.fail(f"seed {seed}: {how} passed for an answer\n" + "\n".join(map(str, events)))


def test_what_is_said_is_read() -> None:
    seen = play(range(600))
    assert min(seen.values()) > 20, seen


def test_what_is_cut_off_is_no_answer() -> None:
    play_cuts(range(300))


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_100_000_answers() -> None:
    seen = play(range(1_000, 101_000))
    play_cuts(range(1_000, 21_000))
    print(f"100,000 answers and 20,000 failures, {len(seen)} habits, each at least {min(seen.values())} times")
