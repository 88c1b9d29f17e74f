"""The engine against real tools: what it says, what it asks for, what it leaves behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_core.repair.limits import SearchLimits
from agent_core.repair.replies import Reply, next_reply
from agent_core.responses_server.engine import (
    EngineRequest,
    EngineTool,
    Finish,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from agent_core.responses_server.engines.repair import RepairEngine
from agent_core.wire.items import FunctionCall, FunctionCallOutput, Message
from tests.support.repair.corpus import snapshot
from tests.support.repair.tools import CodexTools, LooplineTools, Played, one_reply, play, request_for

MODULE = """\
def clamp(value, low, high):
    if value < low:
        return low
    if value > high:
        return low
    return value
"""
TESTS = """\
import unittest

from limits import clamp


class ClampTest(unittest.TestCase):
    def test_below(self):
        self.assertEqual(clamp(1, 2, 5), 2)

    def test_above(self):
        self.assertEqual(clamp(9, 2, 5), 5)

    def test_inside(self):
        self.assertEqual(clamp(3, 2, 5), 3)
"""
FIXED = MODULE.replace("        return low\n    return", "        return high\n    return")
SPECS = LooplineTools(Path()).specs
SHORT = SearchLimits(search_s=3, tries_in_place=5)


def make_project(root: Path) -> Path:
    (root / "tests").mkdir(parents=True)
    (root / "limits.py").write_text(MODULE)
    (root / "tests" / "__init__.py").write_text("")
    (root / "tests" / "test_limits.py").write_text(TESTS)
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


def tools_for(root: Path, *without: str) -> LooplineTools:
    return LooplineTools(root, without=("patch", *without))


def reply_to(request: EngineRequest) -> Reply:
    return next_reply(request, SearchLimits())


async def test_a_bug_is_fixed_in_steps_that_a_person_can_follow(project: Path) -> None:
    played = await play(tools_for(project))
    assert played.fixed, played.last
    assert (project / "limits.py").read_text() == MODULE.replace(
        "        return low\n    return", "        return high\n    return"
    )
    assert "search engine over program edits, not a language model" in played.texts[0]
    names = [name for name, _, _ in played.calls]
    assert names[:2] == ["list", "shell"]
    assert {"read", "shell", "edit"} <= set(names)
    assert names[-2:] == ["edit", "checks"]
    assert names.count("edit") == 1
    assert 5 <= played.replies <= 10
    assert "`limits.py` line 5" in played.last
    assert "`low` becomes `high`" in played.last


async def test_a_bare_shell_is_enough(project: Path) -> None:
    played = await play(CodexTools(project))
    assert played.fixed, played.last
    assert "return high" in (project / "limits.py").read_text()
    assert {name for name, _, _ in played.calls} == {"exec_command"}


async def test_without_commands_edits_are_tried_in_place(project: Path) -> None:
    played = await play(tools_for(project, "shell"))
    assert played.fixed, played.last
    assert {name for name, _, _ in played.calls} <= {"list", "read", "search", "edit", "checks"}
    assert "return high" in (project / "limits.py").read_text()


async def test_in_place_too_a_test_that_failed_before_rejects_no_fix(project: Path) -> None:
    (project / "tests" / "test_another.py").write_text(
        "import unittest\n\n\nclass AnotherTest(unittest.TestCase):\n"
        "    def test_another(self):\n        self.fail('as ever')\n"
    )
    played = await play(tools_for(project, "shell"))
    assert played.last.startswith("Fixed"), played.last
    assert "As before, 1 test fails" in played.last
    assert "return high" in (project / "limits.py").read_text()


@pytest.mark.parametrize("without", ["patch", "shell"])
async def test_cannot_fix_leaves_the_tree_as_found(
    project: Path, without: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    (project / "limits.py").write_text("def clamp(value, low, high):\n    return {}\n")
    before = snapshot(project)
    played = await play(tools_for(project, without), limits=SHORT)
    assert played.last.startswith("I cannot fix this")
    assert "limits.py" in played.last
    assert "as I found them" in played.last
    assert snapshot(project) == before
    assert list(temporary.glob("loopline-repair-*")) == []


async def test_tests_and_configuration_are_never_edited(project: Path) -> None:
    (project / "tests" / "helpers.py").write_text("def wanted():\n    return 4\n")
    (project / "tests" / "test_limits.py").write_text(
        "import unittest\nfrom limits import clamp\nfrom tests.helpers import wanted\n\n\n"
        "class AllTest(unittest.TestCase):\n"
        "    def test_all(self):\n        self.assertEqual(clamp(3, 2, 5), wanted())\n"
    )
    (project / "limits.py").write_text("def clamp(value, low, high):\n    return [value, low, high]\n")
    before = snapshot(project)
    played = await play(tools_for(project), limits=SHORT)
    assert not played.fixed
    assert snapshot(project) == before


async def test_nothing_to_fix_and_no_tests(project: Path) -> None:
    (project / "limits.py").write_text(FIXED)
    played = await play(tools_for(project))
    assert "All 3 tests pass" in played.last
    (project / "tests" / "test_limits.py").unlink()
    played = await play(tools_for(project))
    assert "no tests" in played.last


async def test_a_missing_package_is_told_at_once(project: Path) -> None:
    (project / "limits.py").write_text("import surely_not_installed\n\n" + MODULE)
    played = await play(tools_for(project))
    assert "surely_not_installed" in played.last
    assert played.last.startswith("I cannot fix this")


async def test_tools_that_are_missing_or_refused(project: Path) -> None:
    text, calls = await one_reply(request_for([Message(role="user", content="fix it")], [], {}))
    assert "not a language model" in text
    assert calls == []
    weather = EngineTool(name="weather", parameters={"properties": {"city": {"type": "string"}}})
    text, calls = await one_reply(request_for([Message(role="user", content="fix it")], [weather], {}))
    assert calls == []

    class Denied(LooplineTools):
        async def run(self, name: str, arguments: str) -> str:
            return "denied by the user" if name in ("checks", "shell") else await super().run(name, arguments)

    played = await play(Denied(project))
    assert "denied by the user" in played.last
    assert (project / "limits.py").read_text() == MODULE


async def test_commands_that_are_denied_lead_to_trying_in_place(project: Path) -> None:
    class Denied(LooplineTools):
        async def run(self, name: str, arguments: str) -> str:
            return "denied by the user" if name == "shell" else await super().run(name, arguments)

    played = await play(Denied(project))
    assert played.fixed, played.last


async def test_an_edit_that_is_denied_changes_nothing(project: Path) -> None:
    class Denied(LooplineTools):
        async def run(self, name: str, arguments: str) -> str:
            return "denied by the user" if name == "edit" else await super().run(name, arguments)

    played = await play(Denied(project))
    assert "denied by the user" in played.last
    assert (project / "limits.py").read_text() == MODULE


async def test_one_call_at_a_time_where_the_client_wants_that(project: Path) -> None:
    played = await play(tools_for(project), parallel=False)
    assert played.fixed, played.last
    assert played.replies == len(played.calls) + 1


async def test_two_bugs_are_fixed_one_after_the_other(project: Path) -> None:
    """Each has a cause of its own; nothing more is changed."""
    more = "\n\ndef span(low, high):\n    return high + low\n"
    (project / "limits.py").write_text(MODULE + more)
    (project / "tests" / "test_span.py").write_text(
        "import unittest\nfrom limits import span\n\n\nclass SpanTest(unittest.TestCase):\n"
        "    def test_span(self):\n        self.assertEqual(span(2, 9), 7)\n"
    )
    played = await play(tools_for(project))
    assert played.fixed, played.last
    assert (project / "limits.py").read_text() == FIXED + more.replace("high + low", "high - low")
    assert any("I look what else it mends" in text for text in played.texts)
    assert "line 5" in played.last
    assert "line 10" in played.last


CLIENTS: dict[str, Callable[[Path], LooplineTools | CodexTools]] = {
    "loopline": tools_for,
    "in place": lambda root: tools_for(root, "shell"),
    "codex": CodexTools,
}


Recorded = tuple[Played, list[EngineTool]]


@pytest.fixture(scope="module", params=list(CLIENTS))
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A whole conversation and the tools that it was had with."""
    client = CLIENTS[request.param](make_project(tmp_path_factory.mktemp("recorded") / "project"))
    return asyncio.run(play(client)), client.specs


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return asyncio.run(play(tools_for(make_project(tmp_path_factory.mktemp("recorded") / "project"))))


def cuts(items: list[Any]) -> list[int]:
    """Where the client asks: behind a user message, or behind the outputs of all calls so far."""
    found = []
    for at in range(1, len(items) + 1):
        asked = sum(isinstance(item, FunctionCall) for item in items[:at])
        answered = sum(isinstance(item, FunctionCallOutput) for item in items[:at])
        last = items[at - 1]
        if asked == answered and not (isinstance(last, Message) and last.role == "assistant"):
            found.append(at)
    return found


def test_a_replay_says_what_the_live_plan_said(recorded: Recorded) -> None:
    """From a full resend without memory, and from a memory that stands somewhere before."""
    conversation, tools = recorded
    memory: dict[str, Any] = {}
    points = cuts(conversation.items)
    assert len(points) == conversation.replies
    for at in points:
        live = reply_to(request_for(conversation.items[:at], tools, memory))
        assert reply_to(request_for(conversation.items[:at], tools, {})) == live
        for earlier in points[: points.index(at)][-2:]:
            stale: dict[str, Any] = {}
            reply_to(request_for(conversation.items[:earlier], tools, stale))
            assert reply_to(request_for(conversation.items[:at], tools, stale)) == live
        following = conversation.items[at:]
        calls = [item for item in following[: 1 + len(live.calls)] if isinstance(item, FunctionCall)]
        assert [(call.name, json.loads(call.arguments)) for call in calls] == [
            (c.name, c.arguments) for c in live.calls
        ]


def test_a_memory_that_went_further_is_no_harm(conversation: Played) -> None:
    tools = SPECS
    memory: dict[str, Any] = {}
    points = cuts(conversation.items)
    reply_to(request_for(conversation.items[: points[5]], tools, memory))
    back = reply_to(request_for(conversation.items[: points[3]], tools, memory))
    assert back == reply_to(request_for(conversation.items[: points[3]], tools, {}))


def test_a_conversation_that_does_not_fit_starts_over(conversation: Played) -> None:
    tools = SPECS
    items = [*conversation.items[: cuts(conversation.items)[3]]]
    strange = [
        FunctionCall(name="read", arguments='{"path": "x"}', call_id="s"),
        FunctionCallOutput(call_id="s", output=""),
    ]
    reply = reply_to(request_for([*items, *strange], tools, {}))
    assert [call.name for call in reply.calls] == ["list", "shell"]
    unanswered = [*items, FunctionCall(name="checks", arguments="{}", call_id="u")]
    assert [call.name for call in reply_to(request_for(unanswered, tools, {})).calls] == ["list", "shell"]


async def test_a_run_that_was_cut_off_is_taken_back_first(project: Path) -> None:
    """Killed while an edit was being tried in place; then resumed with a new message."""
    tools = tools_for(project, "shell")
    (project / "limits.py").write_text(MODULE.replace("value < low", "value <= low + 99"))
    before = snapshot(project)
    cut = await play(tools, max_replies=8)
    assert snapshot(project) != before
    resumed = await play(tools, "go on", items=cut.items, max_replies=2)
    restored = [arguments for name, arguments, _ in resumed.calls if name == "edit"]
    assert restored
    assert snapshot(project) == before


async def test_a_cut_off_edit_that_holds_is_kept(project: Path) -> None:
    tools = tools_for(project)
    stopped: list[Any] = []

    def stop_after_the_edit(played: Played) -> None:
        if played.calls[-1][0] == "edit" and not stopped:
            stopped.extend(played.items)

    await play(tools, watch=stop_after_the_edit)
    resumed = await play(tools, "go on", items=stopped)
    assert "nothing to fix" in resumed.last
    assert "holds" in resumed.last


async def test_later_messages_of_a_conversation_are_not_introduced_again(project: Path) -> None:
    first = await play(tools_for(project))
    second = await play(tools_for(project), "and now?", items=first.items)
    assert "not a language model" not in second.texts[0]
    assert "nothing to fix" in second.last


async def test_a_reply_that_is_too_long_says_so() -> None:
    request = request_for([Message(role="user", content="fix it")], SPECS, {})
    request.max_output_tokens = 10
    pieces = [delta async for delta in RepairEngine().stream(request)]
    assert pieces[-1] == Finish(reason="max_output_tokens")
    assert not any(isinstance(piece, ToolCallStart | ToolCallDelta) for piece in pieces)


async def test_text_comes_in_pieces_and_nothing_after_the_end() -> None:
    request = request_for([Message(role="user", content="fix it")], SPECS, {})
    pieces = [delta async for delta in RepairEngine().stream(request)]
    assert sum(isinstance(piece, TextDelta) for piece in pieces) > 5
    assert [type(piece) for piece in pieces].count(Finish) == 1
    assert isinstance(pieces[-1], Finish)


async def test_a_cancelled_reply_leaves_a_memory_that_works(conversation: Played) -> None:
    tools = SPECS
    memory: dict[str, Any] = {}
    points = cuts(conversation.items)
    await one_reply(request_for(conversation.items[: points[2]], tools, memory))
    stream = RepairEngine().stream(request_for(conversation.items[: points[3]], tools, memory))
    task = asyncio.ensure_future(anext(aiter(stream)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    after = await one_reply(request_for(conversation.items[: points[4]], tools, memory))
    assert after == await one_reply(request_for(conversation.items[: points[4]], tools, {}))


def test_what_the_service_tells_of_it() -> None:
    engine = RepairEngine()
    assert engine.name == "repair"
    assert engine.capabilities.repair
    assert engine.capabilities.tools
    assert not engine.capabilities.chat
