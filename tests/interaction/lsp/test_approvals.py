"""Questions to the user: asked in the editor, answered anywhere, once; never answered by silence."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.interaction.lsp.conftest import with_answers
from tests.support.lsp.client import Json, LspClient, RpcError, connected_tcp, stdio
from tests.support.lsp.puppet import Puppet, puppet_env, steps

RUN = steps({"call": "shell", "args": {"command": "echo ran > ran.txt"}}, {"text": "end"})


class Prompts:
    """The editor's dialogs; `answers` are taken in order, and without one a dialog stays open."""

    def __init__(self, client: LspClient, *answers: str | None) -> None:
        self.asked: list[Json] = []
        self.withdrawn: list[Json] = []
        self._answers = list(answers)
        client.handlers["window/showMessageRequest"] = self._ask

    async def _ask(self, params: Json) -> Json | None:
        self.asked.append(params)
        if not self._answers:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                self.withdrawn.append(params)
                raise
        title = self._answers.pop(0)
        return None if title is None else {"title": title}


@pytest.fixture
def options(model: Puppet) -> Json:
    return {"baseUrl": model.base_url, "model": "puppet"}


ASK = steps({"call": "ask", "args": {"question": "Which?", "options": ["tabs", "spaces"]}}, {"text": "end"})


async def test_what_the_model_asks_is_shown_by_the_plugin_and_answered_by_command(
    tmp_path: Path, model: Puppet, root: Path, options: Json
) -> None:
    async with stdio(puppet_env(tmp_path, model)) as client:
        await client.initialize(root, options=options, experimental={"questions": True})
        turn = await client.command("loopline.turn.start", {"task": ASK})
        asked = await client.event("question", turnId=turn["turnId"])
        assert (asked["question"], asked["options"]) == ("Which?", ["tabs", "spaces"])
        (listed,) = (await client.command("loopline.session.list", {}))["sessions"]
        assert listed["questions"][0]["questionId"] == asked["questionId"]
        answer = {"questionId": asked["questionId"], "answer": "tabs"}
        await client.command("loopline.question.answer", answer)
        assert (await client.event("question.answered", questionId=asked["questionId"]))["by"] == "lsp"
        assert (await client.event("tool.finished", turnId=turn["turnId"]))["summary"] == "tabs"
        await client.command("loopline.question.answer", answer)  # answered twice is harmless
        with pytest.raises(RpcError):
            await client.command("loopline.question.answer", {"questionId": "ques_x", "answer": "y"})


async def test_an_editor_that_shows_no_questions_is_asked_none(client: LspClient) -> None:
    await client.turn(ASK)
    assert (await client.event("tool.finished"))["status"] == "denied"


@pytest.mark.parametrize(("title", "ran"), [("Allow", True), ("Deny", False), (None, False)])
async def test_the_dialog_decides_and_dismissing_denies(
    client: LspClient, root: Path, title: str | None, ran: bool
) -> None:
    prompts = Prompts(client, title)
    await client.turn(RUN)
    assert (root / "ran.txt").exists() is ran
    assert len(prompts.asked) == 1 and "echo ran > ran.txt" in prompts.asked[0]["message"]
    opened = await client.event("approval.opened")
    assert opened["approval"]["subject"] == "echo ran > ran.txt" and opened["approval"]["name"] == "shell"
    closed = await client.event("approval.resolved", approvalId=opened["approval"]["approvalId"])
    assert closed["decision"] == ("allow" if ran else "deny")


async def test_always_holds_for_the_same_command_only(client: LspClient) -> None:
    prompts = Prompts(client, "Always allow", "Deny")
    await client.turn(RUN)
    await client.turn(RUN)
    assert len(prompts.asked) == 1
    await client.turn(steps({"call": "shell", "args": {"command": "echo ran > ran.txt; true"}}, {"text": "end"}))
    assert len(prompts.asked) == 2


async def test_edits_do_not_ask(client: LspClient, root: Path) -> None:
    prompts = Prompts(client)
    await client.turn(steps({"call": "edit", "args": {"path": "other.py", "old": "1", "new": "2"}}, {"text": "end"}))
    assert (root / "other.py").read_text() == "x = 2\n" and prompts.asked == []


async def test_an_open_question_is_listed_and_answered_by_command(client: LspClient, root: Path) -> None:
    prompts = Prompts(client)
    started = await client.command("loopline.turn.start", {"task": RUN})
    opened = (await client.event("approval.opened"))["approval"]
    listed = await client.command("loopline.session.list", {})
    (session,) = (s for s in listed["sessions"] if s["sessionId"] == started["sessionId"])
    assert session["approvals"] == [opened]
    status = await client.request("loopline/status", {})
    (waiting,) = (category for category in status["categories"] if category["category"] == "approvals")
    assert (waiting["state"], waiting["severity"]) == ("waiting", "warning")
    answer = {"approvalId": opened["approvalId"], "decision": "allow"}
    assert await client.command("loopline.approval.answer", answer) is None
    await client.event("turn.finished")
    assert (root / "ran.txt").exists()
    assert len(prompts.withdrawn) == 1
    # twice is harmless, and changes nothing
    assert await client.command("loopline.approval.answer", {**answer, "decision": "deny"}) is None


async def test_a_cancelled_turn_withdraws_its_question(client: LspClient, root: Path) -> None:
    prompts = Prompts(client)
    started = await client.command("loopline.turn.start", {"task": RUN})
    opened = (await client.event("approval.opened"))["approval"]
    await client.command("loopline.turn.cancel", {"turnId": started["turnId"]})
    closed = await client.event("approval.resolved", approvalId=opened["approvalId"])
    assert closed["decision"] == "withdrawn"
    await client.until(lambda: prompts.withdrawn)
    assert not (root / "ran.txt").exists()


async def test_an_editor_that_cannot_ask_leaves_the_question_open(client: LspClient, root: Path) -> None:
    started = await client.command("loopline.turn.start", {"task": RUN})  # showMessageRequest answers -32601
    opened = (await client.event("approval.opened"))["approval"]
    with pytest.raises(TimeoutError):
        await client.event("turn.finished", timeout_s=0.5, turnId=started["turnId"])
    await client.command("loopline.approval.answer", {"approvalId": opened["approvalId"], "decision": "allow"})
    await client.event("turn.finished", turnId=started["turnId"])
    assert (root / "ran.txt").exists()


async def test_an_unanswered_question_may_have_a_time_limit(raw: LspClient, root: Path, options: Json) -> None:
    Prompts(raw)
    await raw.initialize(root, options={**options, "approvalTimeoutS": 0.2})
    end = await raw.turn(RUN)
    assert end["status"] == "completed" and not (root / "ran.txt").exists()


async def test_the_time_limit_may_stand_in_the_users_file_and_holds_for_plugins(
    tmp_path: Path, root: Path, model: Puppet
) -> None:
    folder = tmp_path / "config" / "loopline"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("approval_timeout_s = 0.2\n")
    async with stdio(puppet_env(tmp_path, model)) as client:
        with_answers(client)
        await client.initialize(root, experimental={"approvals": True})
        end = await client.turn(RUN)
        assert end["status"] == "completed" and not (root / "ran.txt").exists()
        assert (await client.event("approval.resolved"))["decision"] == "deny"


async def test_always_is_not_offered_where_it_would_not_be_kept(client: LspClient, root: Path) -> None:
    prompts = Prompts(client, "Allow")
    await client.turn(steps({"call": "shell", "args": {"command": "echo $(date) > ran.txt"}}, {"text": "end"}))
    assert [action["title"] for action in prompts.asked[0]["actions"]] == ["Allow", "Deny"]
    opened = (await client.event("approval.opened"))["approval"]
    assert opened["always"] is False and "substitution" in opened["rule"]
    assert (root / "ran.txt").exists()


async def test_a_plugin_asks_by_itself(raw: LspClient, root: Path, options: Json) -> None:
    prompts = Prompts(raw)
    await raw.initialize(root, options=options, experimental={"approvals": True})
    await raw.command("loopline.turn.start", {"task": RUN})
    opened = (await raw.event("approval.opened"))["approval"]
    await raw.command("loopline.approval.answer", {"approvalId": opened["approvalId"], "decision": "always"})
    await raw.event("turn.finished")
    assert prompts.asked == [] and (root / "ran.txt").exists()


async def test_two_clients_of_a_process_share_a_session(
    client: LspClient, shared: Json, root: Path, options: Json
) -> None:
    """The second watches, answers, and takes the session when the first is gone."""
    Prompts(client)
    started = await client.command("loopline.turn.start", {"task": RUN})
    opened = (await client.event("approval.opened"))["approval"]
    async with connected_tcp(int(shared["url"].rsplit(":", 1)[1])) as other:
        with_answers(other)
        prompts = Prompts(other, "Allow")
        await other.initialize(root, options=options)
        session = await other.command("loopline.session.resume", {"sessionId": started["sessionId"]})
        assert session["approvals"] == [opened] and prompts.asked == []
        await client.close()
        # the first editor is gone without a word: its question goes to the one that takes the session
        end = await _resumed_until_asked(other, started["sessionId"], prompts)
        assert end["status"] == "completed" and (root / "ran.txt").exists()


async def _resumed_until_asked(client: LspClient, session: str, prompts: Prompts) -> Json:
    async with asyncio.timeout(10):
        while not prompts.asked:
            await client.command("loopline.session.resume", {"sessionId": session})
            await asyncio.sleep(0.01)
    return await client.event("turn.finished", sessionId=session)


async def test_the_words_of_a_question_hide_nothing(client: LspClient) -> None:
    prompts = Prompts(client, None)
    command = "echo safe\rrm -rf \x1b[2K.\u202e"
    await client.turn(steps({"call": "shell", "args": {"command": command}}, {"text": "end"}))
    message = prompts.asked[0]["message"]
    assert "\r" not in message and "\x1b" not in message and "\u202e" not in message and "rm -rf" in message


async def test_an_unknown_decision_is_refused(client: LspClient) -> None:
    with pytest.raises(RpcError, match="decision"):
        await client.command("loopline.approval.answer", {"approvalId": "x", "decision": "maybe"})


@pytest.mark.parametrize("shows", [True, False])
async def test_what_is_too_long_for_a_dialog_is_shown_whole_before_it_can_be_allowed(
    client: LspClient, root: Path, shows: bool
) -> None:
    command = f"echo {'x' * 2000} \x1b[1m > ran.txt; true the end"
    documents: list[Path] = []
    texts: list[str] = []

    async def show(params: Json) -> Json:
        path = Path(unquote(urlsplit(params["uri"]).path))
        if path.name.startswith("loopline-approval-"):
            documents.append(path)
            texts.append(path.read_text())
        return {"success": shows}

    client.handlers["window/showDocument"] = show
    prompts = Prompts(client, "Show all of it", "Allow")
    await client.turn(steps({"call": "shell", "args": {"command": command}}, {"text": "end"}))
    offered = [[action["title"] for action in asked["actions"]] for asked in prompts.asked]
    assert offered[0] == ["Show all of it", "Deny"] and "xxx" not in prompts.asked[0]["message"]
    assert texts == [command.replace("\x1b", "\\x1b") + "\n"] and not documents[0].exists()
    assert offered[1][0] == ("Allow" if shows else "Deny")
    assert (root / "ran.txt").exists() is shows  # an answer that was not offered allows nothing
