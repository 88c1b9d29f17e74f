"""The model asks: offered only where somebody can answer, answered once from anywhere, counted as waiting."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_core.config.paths import runtime_dir
from agent_core.control.client import ControlClient, find_hosts
from agent_core.hosting.session import HostOptions, host_session
from agent_core.telemetry.emitter import ListSink
from agent_core.telemetry.events import ApprovalResolved, ToolFinished, ToolStarted, TurnFinished
from agent_core.turns.events import QuestionAsked, QuestionEnded, ToolEnded, TurnEvent
from agent_core.turns.question import Question
from tests.interaction.agent.test_typed_ahead import Screen
from tests.support.service.serving import KEY, serving
from tests.support.system.cli import environment, loopline

OPTIONS = ["tabs", "spaces"]
STEPS = {
    "steps": [
        {"output": [{"function_call": {"name": "ask", "arguments": {"question": "Which?", "options": OPTIONS}}}]},
        {"output": [{"text": "Thanks."}]},
    ]
}


class Person:
    """A front end whose user answers `says`, or never. `answers`: whether anybody is there."""

    def __init__(self, says: str | None = None, *, answers: bool = True) -> None:
        self.says, self.answers, self.asked = says, answers, asyncio.Event()

    async def put(self, question: Question) -> str | None:
        self.asked.set()
        if self.says is None:
            await asyncio.get_running_loop().create_future()
        return self.says


async def _turn(
    folder: Path, url: str, person: Person | None, meanwhile: Any = None
) -> tuple[list[TurnEvent], ListSink]:
    (folder / "project").mkdir()
    env = {**environment(folder / "home"), "OPENAI_API_KEY": KEY}
    options = HostOptions(
        roots=(folder / "project",), client="test", flags={"base_url": url, "model": "scripted"}, env=env
    )
    seen, sink = list[TurnEvent](), ListSink()
    async with (
        asyncio.timeout(60),
        host_session(options, observer=seen.append, sinks=(sink,), replier=person) as hosted,
    ):
        running = hosted.session.start_turn("do it")
        if meanwhile is not None and person is not None:
            await person.asked.wait()
            await meanwhile(hosted.session, env)
        await running.done
    return seen, sink


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("asking")
    (folder / "steps.json").write_text(json.dumps(STEPS))
    with serving(folder, environment(folder), "--rollout", str(folder / "steps.json")) as served:
        yield f"{served.url}/v1"


def of(seen: list[TurnEvent], kind: type[Any]) -> Any:
    (only,) = [event for event in seen if isinstance(event, kind)]
    return only


async def test_an_answer_is_what_the_model_gets_and_its_wait_is_approval_time(tmp_path: Path, url: str) -> None:
    seen, sink = await _turn(tmp_path, url, Person("spaces, two of them"))
    asked, ended, tool = of(seen, QuestionAsked), of(seen, QuestionEnded), of(seen, ToolEnded)
    assert (asked.question, asked.options) == ("Which?", tuple(OPTIONS))
    assert (ended.question_id, ended.answer, ended.by) == (asked.question_id, "spaces, two of them", "test")
    assert (tool.status, tool.output) == ("ok", "spaces, two of them")
    assert [event.kind for event in sink.events if isinstance(event, ApprovalResolved)] == ["question"]
    assert not any(isinstance(event, ToolStarted) for event in sink.events)
    assert any(isinstance(event, ToolFinished) and event.name == "ask" for event in sink.events)
    (end,) = [event for event in sink.events if isinstance(event, TurnFinished)]
    assert end.stages_ms["approval"] > 0 and end.stages_ms["client_tool"] == 0


async def test_another_process_answers_and_the_front_end_is_asked_no_longer(tmp_path: Path, url: str) -> None:
    async def elsewhere(session: Any, env: dict[str, str]) -> None:
        (found,) = await find_hosts(runtime_dir(env))
        async with ControlClient(found.path) as client:
            (info,) = await client.list_sessions()
            (question,) = info.questions
            assert question.question == "Which?"
            await client.reply(question.question_id, "tabs", by="elsewhere")
            assert not session.questions.answer(question.question_id, "late", by="test")

    seen, _ = await _turn(tmp_path, url, Person(), elsewhere)
    assert (of(seen, QuestionEnded).answer, of(seen, QuestionEnded).by) == ("tabs", "elsewhere")


async def test_a_cancelled_turn_withdraws_its_question(tmp_path: Path, url: str) -> None:
    async def cancel(session: Any, env: dict[str, str]) -> None:
        session.cancel(session.running.turn)
        await session.running.done
        assert session.questions.pending() == []

    seen, _ = await _turn(tmp_path, url, Person(), cancel)
    assert of(seen, QuestionEnded).answer == "" and of(seen, ToolEnded).status == "cancelled"


@pytest.mark.parametrize("person", [None, Person(answers=False)], ids=["no front end", "nobody there"])
async def test_where_nobody_can_answer_it_cannot_ask(tmp_path: Path, url: str, person: Person | None) -> None:
    seen, _ = await _turn(tmp_path, url, person)
    assert not any(isinstance(event, QuestionAsked) for event in seen)
    assert (of(seen, ToolEnded).status, of(seen, ToolEnded).summary) == ("denied", "nobody can answer here")


def test_run_asks_on_a_terminal_and_a_number_chooses(tmp_path: Path, url: str) -> None:
    (tmp_path / "project").mkdir()
    env = {**environment(tmp_path / "home"), "OPENAI_API_KEY": KEY, "TERM": "xterm"}
    main, side = pty.openpty()
    command = [sys.executable, "-m", "agent_core", "run", "do it", "--base-url", url, "--model", "scripted"]
    process = subprocess.Popen(command, stdin=side, stdout=side, stderr=side, env=env, cwd=tmp_path / "project")
    try:
        screen = Screen(main)
        screen.until(b"your own words")
        assert b"? Which?" in screen.seen and b"2  spaces" in screen.seen
        os.write(main, b"2\n")
        screen.until(b"done")
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(main)
        os.close(side)
    done = loopline(
        "run", "do it", "--base-url", url, "--model", "scripted", "--json", env=env, cwd=tmp_path / "project"
    )
    assert not any(line["type"] == "question" for line in done.lines)
