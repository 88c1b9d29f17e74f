"""Each method of the protocol over a real child process, judged by a referee that shares no code with the agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.acp.client import AcpClient, AcpError, Json, agent, choosing, prompting
from tests.support.lsp.puppet import Puppet, puppet, puppet_env, steps

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

CODE = "def add(a, b):\n    return a - b\n"


class Desk:
    """One process of the agent, its model, and a folder for each test."""

    def __init__(self, client: AcpClient, model: Puppet, said: Json) -> None:
        self.client, self.model, self.said = client, model, said


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    home = tmp_path_factory.mktemp("home")
    async with puppet() as model, agent(puppet_env(home, model)) as client:
        yield Desk(client, model, await client.initialize(reads=True, writes=True))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "sums.py").write_text(CODE)
    return folder


async def test_initialize_says_what_there_is_and_no_more(desk: Desk) -> None:
    assert desk.said["protocolVersion"] == 1
    can = desk.said["agentCapabilities"]
    assert can["loadSession"] and can["promptCapabilities"] == {"image": False, "audio": False, "embeddedContext": True}
    assert set(can["sessionCapabilities"]) == {"list", "resume", "close", "fork", "additionalDirectories"}
    assert [method["id"] for method in desk.said["authMethods"]] == ["key"]


async def test_authenticate_asks_the_service(desk: Desk) -> None:
    with pytest.raises(AcpError) as wrong:
        await desk.client.ask("authenticate", {"methodId": "nothing"})
    assert wrong.value.code == -32602
    with pytest.raises(AcpError) as deaf:  # the stand-in lists no models, so it can't say whether the key is taken
        await desk.client.ask("authenticate", {"methodId": "key"})
    assert deaf.value.code == -32603 and deaf.value.data["code"] == "service_unreachable"


async def test_new_offers_modes_and_options(desk: Desk, root: Path) -> None:
    found = await desk.client.ask("session/new", {"cwd": str(root), "mcpServers": []})
    assert found["modes"]["currentModeId"] == "ask"
    assert [mode["id"] for mode in found["modes"]["availableModes"]] == ["ask", "auto", "plan"]
    options = {option["id"]: option["currentValue"] for option in found["configOptions"]}
    assert options["mode"] == "ask" and options["model"] == "puppet"
    for wrong in ("relative", str(root / "sums.py"), str(root / "none")):
        with pytest.raises(AcpError) as refused:
            await desk.client.ask("session/new", {"cwd": wrong, "mcpServers": []})
        assert (refused.value.code, refused.value.data["code"]) == (-32602, "cwd")


async def test_a_folder_that_asks_more_offers_no_looser_mode(desk: Desk, root: Path) -> None:
    (root / ".loopline").mkdir()
    (root / ".loopline" / "config.toml").write_text('approve = "never"\n')
    found = await desk.client.ask("session/new", {"cwd": str(root), "mcpServers": []})
    assert [mode["id"] for mode in found["modes"]["availableModes"]] == ["never", "plan"]
    with pytest.raises(AcpError) as refused:
        await desk.client.ask("session/set_mode", {"sessionId": found["sessionId"], "modeId": "auto"})
    assert refused.value.code == -32602


async def test_prompt_tells_text_calls_and_figures(desk: Desk, root: Path) -> None:
    client = desk.client
    session = await client.new(root)
    edit = {"path": "sums.py", "old": "a - b", "new": "a + b"}
    plan = {"steps": ["done: read", "doing: mend", "todo: test"]}
    done = await client.prompt(
        session,
        steps(
            {"call": "read", "args": {"path": "sums.py"}},
            {"call": "plan", "args": plan},
            {"call": "edit", "args": edit},
            {"text": "Mended."},
        ),
    )
    assert done["stopReason"] == "end_turn" and client.text(session) == "Mended."
    assert (root / "sums.py").read_text() == CODE.replace("-", "+")
    ours = done["_meta"]["loopline"]
    assert [call["status"] for call in ours["calls"]] == ["completed"] * 4
    assert all(call["outputTokens"] >= 0 and call["durationMs"] > 0 for call in ours["calls"])
    starts = client.of(session, "tool_call")
    assert [start["kind"] for start in starts] == ["read", "think", "edit"]
    path = str(root / "sums.py")
    assert starts[0]["locations"] == [{"path": path}] and starts[2]["rawInput"] == edit
    ends = [update for update in client.of(session, "tool_call_update") if update.get("status") == "completed"]
    assert [end["toolCallId"] for end in ends] == [start["toolCallId"] for start in starts]
    (difference,) = ends[2]["content"]
    assert (difference["type"], difference["path"]) == ("diff", path)
    assert "a - b" in difference["oldText"] and "a + b" in difference["newText"]
    assert ends[2]["locations"] == [{"path": path, "line": 1}]
    (told,) = client.of(session, "plan")
    assert [entry["status"] for entry in told["entries"]] == ["completed", "in_progress", "pending"]
    figures = [each["_meta"]["loopline"]["call"] for each in client.of(session, "session_info_update")]
    assert figures == ours["calls"]


async def test_compact_makes_the_conversation_shorter(desk: Desk, root: Path) -> None:
    client = desk.client
    session = await client.new(root)
    await client.prompt(session, "hello " * 2_000)
    heard = len(desk.model.heard)
    assert (await client.prompt(session, "/compact"))["stopReason"] == "end_turn"
    assert "made shorter" in client.text(session)
    assert "/compact" not in desk.model.heard[heard:]


async def test_prompt_takes_what_is_mentioned_and_attached(desk: Desk, root: Path) -> None:
    session = await desk.client.new(root)
    uri = (root / "sums.py").as_uri()
    await desk.client.prompt(
        session,
        "Look at ",
        {"type": "resource_link", "name": "sums.py", "uri": f"{uri}#L1:2"},
        " and ",
        {"type": "resource", "resource": {"uri": "file:///notes%20of%20mine.md", "text": "a ``` b"}},
    )
    heard = desk.model.heard[-1]
    assert heard.startswith(f"Look at {root / 'sums.py'} (L1:2) and /notes of mine.md\n\n")
    assert heard.endswith("/notes of mine.md holds:\n````\na ``` b\n````")


async def test_prompt_refuses_pictures_and_silence(desk: Desk, root: Path) -> None:
    session = await desk.client.new(root)
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    blob = {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "aGk="}}
    for blocks in ([picture], ["see", blob], ["  \n"], []):
        with pytest.raises(AcpError) as refused:
            await desk.client.prompt(session, *blocks)
        assert (refused.value.code, refused.value.data["code"]) == (-32602, "not_taken")


async def test_prompts_of_one_session_run_one_after_the_other(desk: Desk, root: Path) -> None:
    session = await desk.client.new(root)
    turns = [desk.client.begin("session/prompt", prompting(session, steps({"text": f"{n}."})))[1] for n in range(4)]
    ended = await asyncio.wait_for(asyncio.gather(*turns), 60)
    assert [each["stopReason"] for each in ended] == ["end_turn"] * 4
    assert desk.client.text(session) == "0.1.2.3."


@pytest.mark.parametrize(("option", "ran"), [("allow", True), ("deny", False), ("nonsense", False)])
async def test_permission_decides(desk: Desk, root: Path, option: str, ran: bool) -> None:
    client = desk.client
    session = await client.new(root)
    client.handlers["session/request_permission"] = choosing(option)
    try:
        await client.prompt(session, steps({"call": "shell", "args": {"command": "echo x > made"}}, {"text": "So."}))
    finally:
        client.handlers["session/request_permission"] = choosing("allow")
    assert (root / "made").exists() is ran
    (asked,) = [each["params"] for each in client.asked if each["params"]["sessionId"] == session]
    assert [each["kind"] for each in asked["options"]] == ["allow_once", "allow_always", "reject_once"]
    assert "echo x > made" in asked["toolCall"]["content"][0]["content"]["text"]
    (start,) = client.of(session, "tool_call")
    assert start["toolCallId"] == asked["toolCall"]["toolCallId"] and start["status"] == "pending"
    assert client.of(session, "tool_call_update")[-1]["status"] == ("completed" if ran else "failed")


async def test_always_asks_once(desk: Desk, root: Path) -> None:
    client = desk.client
    session = await client.new(root)
    client.handlers["session/request_permission"] = choosing("always")
    call = {"call": "shell", "args": {"command": "echo again"}}
    try:
        await client.prompt(session, steps(call, call, {"text": "Twice."}))
    finally:
        client.handlers["session/request_permission"] = choosing("allow")
    assert len([each for each in client.asked if each["params"]["sessionId"] == session]) == 1


async def test_auto_asks_nothing_and_plan_changes_nothing(desk: Desk, root: Path) -> None:
    client = desk.client
    session = await client.new(root)
    command = steps({"call": "shell", "args": {"command": "echo x > made"}}, {"text": "Done."})
    await client.ask("session/set_mode", {"sessionId": session, "modeId": "plan"})
    (told,) = client.of(session, "config_option_update")
    assert told["configOptions"][0]["currentValue"] == "plan"
    await client.prompt(session, command)
    assert not (root / "made").exists()
    asked = len(client.asked)
    answer = await client.ask("session/set_config_option", {"sessionId": session, "configId": "mode", "value": "auto"})
    assert answer["configOptions"][0]["currentValue"] == "auto"
    assert client.of(session, "current_mode_update")[-1]["currentModeId"] == "auto"
    await client.prompt(session, command)
    assert (root / "made").exists() and len(client.asked) == asked


async def test_options_that_are_none(desk: Desk, root: Path) -> None:
    session = await desk.client.new(root)
    for option, value in (("mode", "wild"), ("model", "none-of-these"), ("speed", "high")):
        with pytest.raises(AcpError) as refused:
            await desk.client.ask(
                "session/set_config_option", {"sessionId": session, "configId": option, "value": value}
            )
        assert (refused.value.code, refused.value.data["code"]) == (-32602, "unknown_choice")


async def test_cancel_ends_the_running_turn_and_those_that_wait(desk: Desk, root: Path) -> None:
    client = desk.client
    session = await client.new(root)
    running = client.begin("session/prompt", prompting(session, steps({"hold": "cancelled"})))[1]
    waiting = client.begin("session/prompt", prompting(session, steps({"text": "never"})))[1]
    await desk.model.reached("cancelled")
    await client.notify("session/cancel", {"sessionId": session})
    ended = await asyncio.wait_for(asyncio.gather(running, waiting), 60)
    assert [each["stopReason"] for each in ended] == ["cancelled", "cancelled"]
    assert (await client.prompt(session, steps({"text": "On."})))["stopReason"] == "end_turn"


async def test_cancel_while_a_permission_is_open_and_an_answer_that_comes_late_and_twice(
    desk: Desk, root: Path
) -> None:
    client = desk.client
    session = await client.new(root)
    late = asyncio.Event()

    async def slow(params: Json) -> Json:
        await late.wait()
        return {"outcome": {"outcome": "selected", "optionId": "allow"}}

    client.handlers["session/request_permission"] = slow
    call = {"call": "shell", "args": {"command": "echo x > made"}}
    try:
        turn = client.begin("session/prompt", prompting(session, steps(call)))[1]
        asked = await client.until(
            lambda: next((each for each in client.asked if each["params"]["sessionId"] == session), None)
        )
        await client.notify("session/cancel", {"sessionId": session})
        assert (await asyncio.wait_for(turn, 60))["stopReason"] == "cancelled"
        late.set()
        await client.send({"id": asked["id"], "result": {"outcome": {"outcome": "selected", "optionId": "allow"}}})
        assert (await client.prompt(session, steps({"text": "On."})))["stopReason"] == "end_turn"
    finally:
        late.set()
        client.handlers["session/request_permission"] = choosing("allow")
    assert not (root / "made").exists()


async def test_list_load_resume_fork_and_close(desk: Desk, root: Path) -> None:
    client = desk.client
    session = await client.new(root)
    await client.prompt(session, steps({"call": "read", "args": {"path": "sums.py"}}, {"text": "Read."}))
    listed = await client.ask("session/list", {"cwd": str(root)})
    (entry,) = listed["sessions"]
    assert (entry["sessionId"], entry["cwd"]) == (session, str(root)) and entry["title"]
    assert await client.ask("session/list", {"cwd": "/"}) == {"sessions": []}
    await client.ask("session/close", {"sessionId": session})
    with pytest.raises(AcpError) as closed:
        await client.prompt(session, "hello")
    assert (closed.value.code, closed.value.data["code"]) == (-32602, "unknown_session")

    told = len(client.of(session))
    terms = {"sessionId": session, "cwd": str(root), "mcpServers": []}
    assert (await client.ask("session/resume", terms))["modes"]["currentModeId"] == "ask"
    assert len(client.of(session)) == told
    await client.ask("session/close", {"sessionId": session})
    await client.ask("session/load", terms)
    again = client.of(session)[told:]
    assert [each["sessionUpdate"] for each in again] == ["user_message_chunk", "tool_call", "agent_message_chunk"]
    assert again[1]["toolCallId"] == client.of(session, "tool_call")[0]["toolCallId"]
    assert "return a - b" in again[1]["content"][0]["content"]["text"] and again[2]["content"]["text"] == "Read."
    assert (await client.prompt(session, steps({"text": "On."})))["stopReason"] == "end_turn"

    fork = (await client.ask("session/fork", {"sessionId": session, "cwd": str(root), "mcpServers": []}))["sessionId"]
    assert fork != session
    assert (await client.prompt(fork, steps({"text": "Apart."})))["stopReason"] == "end_turn"
    assert {each["sessionId"] for each in (await client.ask("session/list", {"cwd": str(root)}))["sessions"]} == {
        session,
        fork,
    }


async def test_load_of_what_is_not_there_or_elsewhere(desk: Desk, root: Path, tmp_path: Path) -> None:
    client = desk.client
    for wrong in ("sess_nothere", "../../etc/passwd", ""):
        for method in ("session/load", "session/resume"):
            with pytest.raises(AcpError) as refused:
                await client.ask(method, {"sessionId": wrong, "cwd": str(root), "mcpServers": []})
            assert refused.value.code == -32602
    session = await client.new(root)
    await client.prompt(session, steps({"text": "Here."}))
    await client.ask("session/close", {"sessionId": session})
    with pytest.raises(AcpError) as other:
        await client.ask("session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
    assert (other.value.code, other.value.data["code"]) == (-32602, "other_folder")


async def test_close_ends_what_runs(desk: Desk, root: Path) -> None:
    session = await desk.client.new(root)
    turn = desk.client.begin("session/prompt", prompting(session, steps({"hold": "closed"})))[1]
    await desk.model.reached("closed")
    await desk.client.ask("session/close", {"sessionId": session})
    assert (await asyncio.wait_for(turn, 60))["stopReason"] == "cancelled"


async def test_an_mcp_server_that_can_not_be_is_refused(desk: Desk, root: Path) -> None:
    for server in (
        {"type": "sse", "name": "old", "url": "https://example.org/sse", "headers": []},
        {"type": "http", "name": "odd", "url": "file:///etc/passwd", "headers": []},
    ):
        with pytest.raises(AcpError) as refused:
            await desk.client.ask("session/new", {"cwd": str(root), "mcpServers": [server]})
        assert refused.value.code == -32602


async def test_each_update_came_before_the_answer_of_its_turn(desk: Desk, root: Path) -> None:
    session = await desk.client.new(root)
    words = json.dumps("x" * 2000)
    await desk.client.prompt(session, steps({"text": words}))
    seen = len(desk.client.of(session))
    assert desk.client.text(session) == words
    await desk.client.ask("session/list", {})
    assert len(desk.client.of(session)) == seen
