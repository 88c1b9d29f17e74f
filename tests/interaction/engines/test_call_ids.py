"""Whole turns on a server that uses one call id again and again, or none: each result is of the call that asked for it.

`loopline run` against `loopline serve --engine NAME=upstream:…` against a server on a real socket, both transports.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.engines.chat_shape import DONE, asks, fn, part
from tests.support.engines.upstream_server import Answer, upstream
from tests.support.service.serving import KEY, serving
from tests.support.system.cli import Done, environment, loopline

PATCH = "*** Begin Patch\n*** Update File: c.txt\n@@\n-charlie\n+CHARLIE\n*** End Patch\n"
ROUNDS: list[list[tuple[str, dict[str, Any], str]]] = [
    [("read", {"path": "a.txt"}, "alpha"), ("read", {"path": "b.txt"}, "bravo")],
    [
        ("edit", {"path": "a.txt", "old": "alpha", "new": "ALPHA"}, "a.txt"),
        ("shell", {"command": "echo de''lta"}, "delta"),
    ],
    [("search", {"pattern": "brav."}, "b.txt:1:bravo"), ("list", {"path": "inner"}, "echo.txt")],
    [("patch", {"patch": PATCH}, "patched 1 file"), ("plan", {"steps": ["[x] one", "[ ] two"]}, "2")],
    [("read", {"path": "c.txt"}, "CHARLIE"), ("checks", {"target": "test_it.py"}, "1")],
    [("shell", {"command": "echo fox''trot; head -n 1", "background": True}, "p1")],
    [("process", {"id": "p1", "input": "on\n", "wait_s": 60}, "foxtrot"), ("read", {"path": "gone.txt"}, "gone.txt")],
    [("read", {"path": "a.txt"}, "ALPHA")],
]
"""Of each round its calls: tool, arguments, and what its result holds and no other of the round."""

IDS: dict[str, Callable[[int, int], Any]] = {
    "one for all": lambda number, place: "call_0",
    "mixed": lambda number, place: (f"call_{place}", "", None, place, "call_0")[number % 5],
}
"""What a server gives as id to the call at a place of a round. Mixed: the same in each round, empty, none, a number."""


def rounds_done(body: dict[str, Any]) -> int:
    return sum(1 for message in body["messages"] if message["role"] == "assistant" and message.get("tool_calls"))


def answers(ids: Callable[[int, int], Any]) -> Callable[[Any], Answer | None]:
    """A server that asks for the next round, whatever it is told."""

    def judge(body: Any) -> Answer | None:
        if not isinstance(body, dict) or "messages" not in body:
            return None
        number = rounds_done(body)
        if number >= len(ROUNDS):
            return Answer(events=[part(content="All done."), part("stop"), DONE])
        events = []
        for place, (name, arguments, _) in enumerate(ROUNDS[number]):
            call_id = ids(number, place)
            given = {} if call_id is None else {"id": call_id}
            events.append(asks(index=place, **given, function=fn(name, json.dumps(arguments))))
        return Answer(events=[*events, part("tool_calls"), DONE])

    return judge


def project(folder: Path) -> Path:
    root = folder / "project"
    (root / "inner").mkdir(parents=True)
    for name, text in (
        ("a.txt", "alpha\n"),
        ("b.txt", "bravo\n"),
        ("c.txt", "charlie\n"),
        ("inner/echo.txt", "echo\n"),
    ):
        (root / name).write_text(text)
    (root / "test_it.py").write_text("def test_it():\n    assert True\n")
    return root


def check(done: Done, messages: list[dict[str, Any]]) -> None:
    """Behind the calls of each round stand their results, in their order, each by an id of its own round."""
    assert done.summary["status"] == "completed"
    told: list[tuple[str, str]] = []
    asked: list[Any] = []
    for message in messages:
        if message["role"] == "assistant" and message.get("tool_calls"):
            asked = list(message["tool_calls"])
            assert len({each["id"] for each in asked}) == len(asked), "within a round the server can tell them apart"
        elif message["role"] == "tool":
            call = asked.pop(0)
            assert message["tool_call_id"] == call["id"]
            told.append((call["function"]["name"], str(message["content"])))
    wanted = [(name, mark) for calls in ROUNDS for name, _, mark in calls]
    assert [name for name, _ in told] == [name for name, _ in wanted]
    for (name, output), (_, mark) in zip(told, wanted, strict=True):
        assert mark in output, (name, mark, output)
    ran = [line["name"] for line in done.lines if line["type"] == "tool.finished"]
    assert ran == [name for name, _ in wanted] or sorted(ran) == sorted(name for name, _ in wanted)


@pytest.mark.parametrize("transport", ["websocket", "http"])
@pytest.mark.parametrize("kind", IDS)
async def test_every_result_is_of_its_call(kind: str, transport: str, tmp_path: Path) -> None:
    env, root = environment(tmp_path), project(tmp_path)
    async with upstream(chat=Answer(events=[DONE])) as server:
        server.judge = answers(IDS[kind])
        options = ("-w", str(root), "--model", "far", "--approve", "auto", "--transport", transport, "--json")

        def run() -> Done:
            with serving(tmp_path, env, "--engine", f"far=upstream:{server.url}#m") as service:
                url = ("--base-url", f"{service.url}/v1")
                return loopline("run", "do it", *options, *url, env={**env, "OPENAI_API_KEY": KEY})

        done = await asyncio.to_thread(run)
        messages = server.bodies("/chat/completions")[-1]["messages"]
    assert done.code == 0, done.out[-3000:]
    check(done, messages)
    assert (root / "a.txt").read_text() == "ALPHA\n"
    assert (root / "c.txt").read_text() == "CHARLIE\n"
