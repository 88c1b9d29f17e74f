"""The main job on real input: an agent fixes a failing test over one WebSocket."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent_core.agent.history import History
from agent_core.demo.sample import TASK, copy_to, run_tests
from agent_core.telemetry.events import CallCompleted, CallSent, ServiceCall
from agent_core.telemetry.journal.reader import Feed
from tests.support.agent.sample import OTHER_BUGS, copy_with, sound_copy
from tests.support.model.relay import Relay, relay_to
from tests.support.service.serving import KEY, serving
from tests.support.system.cli import Done, environment, loopline, tree


class Run(msgspec.Struct):
    """One `loopline run` against a service behind a relay, and everything it left."""

    done: Done
    relay: Relay
    project: Path
    state: Path

    @property
    def creates(self) -> list[dict[str, Any]]:
        return [frame for frames in self.relay.up for frame in frames if frame["type"] == "response.create"]

    @property
    def terminals(self) -> list[dict[str, Any]]:
        kinds = ("response.completed", "response.failed", "response.incomplete", "error")
        return [frame for frames in self.relay.down for frame in frames if frame["type"] in kinds]

    def events(self) -> list[Any]:
        feed = Feed(self.state / "loopline")
        try:
            return feed.poll()
        finally:
            feed.close()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("main-job")
    env = environment(folder / "home")
    project = copy_to(folder / "project")

    async def through_relay(url: str) -> tuple[Done, Relay]:
        async with relay_to(url) as relay:
            arguments = ("--approve", "auto", "--json", "--model", "repair", "--base-url", relay.base_url)
            key = {**env, "OPENAI_API_KEY": KEY}
            done = await asyncio.to_thread(loopline, "run", TASK, "-w", str(project), *arguments, env=key)
        return done, relay

    with serving(folder, env) as service:
        done, relay = asyncio.run(through_relay(service.url))
    return Run(done=done, relay=relay, project=project, state=Path(env["XDG_STATE_HOME"]))


def test_the_tests_of_the_project_pass_afterwards(run: Run) -> None:
    assert run.done.code == 0, run.done.err
    verdict = asyncio.run(run_tests(run.project))
    assert verdict.ok and verdict.passed == 24
    assert run.done.summary["status"] == "completed"
    assert run.done.summary["files_changed"] == ["inventory/stock.py"]


def test_one_handshake_and_at_least_eight_calls(run: Run) -> None:
    assert run.relay.handshakes == 1
    assert len([frame for frame in run.creates if frame.get("generate") is not False]) >= 8


def test_every_call_after_the_first_sends_only_new_items(run: Run) -> None:
    """Each create continues the response before it, and all inputs and outputs in a row are the history, once."""
    sent: list[Any] = []
    for index, (create, terminal) in enumerate(zip(run.creates, run.terminals, strict=True)):
        assert terminal["type"] == "response.completed"
        before = run.terminals[index - 1]["response"]["id"] if index else None
        assert create.get("previous_response_id") == before
        sent += create["input"]
        sent += terminal["response"]["output"]
    (file,) = (run.state / "loopline" / "sessions").glob("*.jsonl")
    history = [json.loads(item) for item in History.load(file).items.raw(0)]
    assert sent == history
    assert all(create["store"] is False for create in run.creates)


def test_the_service_rendered_only_what_was_new(run: Run) -> None:
    calls = [event for event in run.events() if isinstance(event, ServiceCall)]
    by_id = {call.response_id: call for call in calls}
    known = 0
    for terminal in run.terminals:
        usage, call = terminal["response"]["usage"], by_id[terminal["response"]["id"]]
        assert call.new_tokens + call.reused_tokens == usage["input_tokens"]
        assert call.reused_tokens == usage["input_tokens_details"]["cached_tokens"]
        assert call.reused_tokens >= known * 0.99
        known = usage["input_tokens"]
    assert len(by_id) == len(run.creates)


def test_the_summary_equals_a_count_of_captured_frames(run: Run) -> None:
    summary = run.done.summary
    real = [create for create in run.creates if create.get("generate") is not False]
    usages = [
        terminal["response"]["usage"]
        for create, terminal in zip(run.creates, run.terminals, strict=True)
        if create.get("generate") is not False
    ]
    assert summary["calls"] == len(real)
    assert summary["connections"] == run.relay.handshakes
    assert summary["reused_calls"] == sum("previous_response_id" in create for create in run.creates)
    assert summary["full_resends"] == sum("previous_response_id" not in create for create in run.creates[1:])
    assert summary["bytes_up"] == run.relay.bytes_up
    assert summary["input_tokens"] == sum(usage["input_tokens"] for usage in usages)
    assert summary["output_tokens"] == sum(usage["output_tokens"] for usage in usages)
    assert summary["cached_tokens"] == sum(usage["input_tokens_details"]["cached_tokens"] for usage in usages)


def test_the_journal_has_each_call_once(run: Run) -> None:
    events = run.events()
    sent = [event for event in events if isinstance(event, CallSent)]
    completed = [event for event in events if isinstance(event, CallCompleted)]
    assert len({event.call for event in sent}) == len(sent) == len(run.creates)
    assert [event.response_id for event in completed] == [frame["response"]["id"] for frame in run.terminals]


def test_all_tools_of_the_agent_weigh_at_most_4_kb(run: Run) -> None:
    assert len(json.dumps(run.creates[0]["tools"], separators=(",", ":")).encode()) <= 4096


def test_the_first_message_says_that_this_is_no_model(run: Run) -> None:
    first = next(line["text"] for line in run.done.lines if line["type"] == "text.done")
    assert "not a language model" in first


@pytest.mark.parametrize("bug", OTHER_BUGS)
def test_another_bug_in_the_sample_is_fixed_as_well(tmp_path: Path, bug: str) -> None:
    project = copy_with(tmp_path / "project", bug)
    done = loopline("run", TASK, "-w", str(project), "--approve", "auto", "--json", env=environment(tmp_path / "home"))
    assert done.code == 0, done.out[-2000:]
    assert asyncio.run(run_tests(project)).ok
    assert done.summary["files_changed"] == [OTHER_BUGS[bug][0]]


def test_a_project_whose_tests_pass_is_left_as_it_is(tmp_path: Path) -> None:
    project = sound_copy(tmp_path / "project")
    before = tree(project)
    done = loopline("run", TASK, "-w", str(project), "--approve", "auto", "--json", env=environment(tmp_path / "home"))
    assert (done.code, done.summary["files_changed"]) == (0, [])
    assert tree(project) == before


def test_a_folder_without_tests_fails_and_is_left_as_it_is(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "module.py").write_text("VALUE = 1\n")
    done = loopline("run", TASK, "-w", str(project), "--approve", "auto", "--json", env=environment(tmp_path / "home"))
    assert (done.code, done.summary["status"]) == (1, "failed")
    assert "no tests" in json.dumps(done.lines).lower()
    assert tree(project) == {"module.py": b"VALUE = 1\n"}


def test_commands_are_denied_with_a_hint_where_nobody_can_answer(tmp_path: Path) -> None:
    project = copy_to(tmp_path / "project")
    before = tree(project)
    done = loopline("run", TASK, "-w", str(project), "--json", env=environment(tmp_path / "home"))
    denied = [line for line in done.lines if line["type"] == "tool.finished" and line["status"] == "denied"]
    assert denied and all("--approve auto" in line["output"] for line in denied)
    assert done.code == 1
    assert tree(project) == before


def test_the_demo_shows_both_runs_and_ends_with_the_summary(tmp_path: Path) -> None:
    kept = tmp_path / os.fsdecode(b"kept caf\xe9")  # a name that is no UTF-8
    done = loopline("demo", "--json", "--keep", str(kept), env=environment(tmp_path / "home"))
    assert done.code == 0, done.err
    socket, http = [line for line in done.lines if line["type"] == "leg"]
    assert (socket["transport"], http["transport"]) == ("websocket", "http")
    assert socket["tests_failed"] == http["tests_failed"] == 0
    assert socket["label"] == http["label"] == "search engine, no model"
    assert socket["connections"] == 1 and socket["calls"] >= 8
    assert http["bytes_up"] > 2 * socket["bytes_up"]
    assert done.summary["status"] == "completed" and done.summary["full_resends"] == 0
    assert asyncio.run(run_tests(kept)).ok


def test_a_key_that_is_refused_ends_with_code_2(tmp_path: Path) -> None:
    env = environment(tmp_path / "home")
    project = copy_to(tmp_path / "project")
    with serving(tmp_path, env) as service:
        arguments = ("--base-url", f"{service.url}/v1", "--model", "repair", "--json")
        done = loopline("run", "x", "-w", str(project), *arguments, env={**env, "OPENAI_API_KEY": "wrong"})
    assert (done.code, done.summary["status"]) == (2, "failed")
    assert "key" in json.dumps([line for line in done.lines if line["type"] == "notice"]).lower()
