"""Turns and sessions by command: each answered at once, every id checked, every end told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.lsp.client import Json, LspClient, RpcError
from tests.support.lsp.puppet import Puppet, steps

HOLD = steps({"hold": "a"}, {"text": "never"})


async def start(client: LspClient, task: str, token: str | None = None, **fields: object) -> Json:
    found: Json = await client.command("loopline.turn.start", {"task": task, **fields}, token)
    return found


async def test_a_turn_is_begun_before_it_is_over(client: LspClient, model: Puppet) -> None:
    started = await start(client, HOLD)
    assert started["sessionId"].startswith("sess_") and started["turnId"].startswith("turn_")
    await model.reached("a")
    model.release("a")
    end = await client.event("turn.finished", turnId=started["turnId"])
    assert end["text"] == "released"


@pytest.mark.parametrize("how", ["command", "progress"])
async def test_a_cancelled_turn_ends(client: LspClient, model: Puppet, how: str) -> None:
    started = await start(client, HOLD, "t")
    await model.reached("a")
    if how == "command":
        assert await client.command("loopline.turn.cancel", {"turnId": started["turnId"]}) is None
    else:
        await client.notify("window/workDoneProgress/cancel", {"token": "t"})
    bars = lambda: [m for m in client.of("$/progress") if m["params"]["value"]["kind"] == "end"]  # noqa: E731
    await client.until(bars)
    end = await client.event("turn.finished", turnId=started["turnId"])
    assert end["status"] == "cancelled"
    # once it is over, cancelling it again is no error, and the session takes the next turn
    await client.command("loopline.turn.cancel", {"turnId": started["turnId"]})
    assert (await client.turn(steps({"text": "next"})))["text"] == "next"


async def test_progress_ends_though_a_command_holds_on(client: LspClient, model: Puppet) -> None:
    """A tool that ignores every polite signal."""
    stubborn = "trap '' TERM INT HUP; echo up; while true; do sleep 0.1; done"
    started = await start(client, steps({"call": "shell", "args": {"command": stubborn}}), "t")
    await client.event("tool.output", line="up")
    await client.command("loopline.turn.cancel", {"turnId": started["turnId"]})
    await client.until(lambda: [m for m in client.of("$/progress") if m["params"]["value"]["kind"] == "end"])
    assert (await client.event("turn.finished", turnId=started["turnId"]))["status"] == "cancelled"


async def test_a_turn_in_plan_mode_changes_nothing_and_says_so(client: LspClient, model: Puppet) -> None:
    patch = "*** Begin Patch\n*** Add File: made.txt\n+x\n*** End Patch"
    task = steps({"call": "patch", "args": {"patch": patch}}, {"text": "a plan"})
    planned = await start(client, task, mode="plan", effort="low")
    assert (await client.event("tool.finished", turnId=planned["turnId"]))["status"] == "denied"
    end = await client.event("turn.finished", turnId=planned["turnId"])
    assert (end["mode"], end["text"]) == ("plan", "a plan")
    with pytest.raises(RpcError):
        await start(client, task, mode="play")
    done = await start(client, task)
    assert (await client.event("tool.finished", turnId=done["turnId"]))["status"] == "ok"
    assert "mode" not in await client.event("turn.finished", turnId=done["turnId"])


async def test_turns_of_a_session_wait_for_each_other(client: LspClient, model: Puppet) -> None:
    first = await start(client, HOLD)
    second = await start(client, steps({"text": "second"}))
    third = await start(client, steps({"text": "third"}))
    assert first["sessionId"] == second["sessionId"]
    await model.reached("a")
    await client.command("loopline.turn.cancel", {"turnId": second["turnId"]})
    end = await client.event("turn.finished", turnId=second["turnId"])
    assert end["status"] == "cancelled"
    model.release("a")
    assert (await client.event("turn.finished", turnId=third["turnId"]))["text"] == "third"
    assert (await client.event("turn.finished", turnId=first["turnId"]))["status"] == "completed"


async def test_what_is_said_to_a_turn_has_one_fate(client: LspClient, model: Puppet) -> None:
    running = await start(client, steps({"hold": "a"}, {"text": "heard it"}))
    waiting = await start(client, steps({"text": "later"}))
    await model.reached("a")
    steered = await client.command("loopline.turn.steer", {"turnId": running["turnId"], "text": "be brief"})
    queued = await client.command("loopline.turn.steer", {"turnId": waiting["turnId"], "text": "and kind"})
    refused = await client.command("loopline.turn.steer", {"turnId": running["turnId"], "text": "  "})
    assert [found["fate"] for found in (steered, queued, refused)] == ["steered", "queued", "refused"]
    assert len({found["inputId"] for found in (steered, queued, refused)}) == 3
    model.release("a")
    await client.event("turn.finished", turnId=waiting["turnId"])
    assert "be brief" in model.heard and model.heard[-1].endswith("and kind")
    late = await client.command("loopline.turn.steer", {"turnId": running["turnId"], "text": "too late"})
    assert late["fate"] == "refused"


@pytest.mark.parametrize(
    ("command", "argument"),
    [
        ("loopline.turn.cancel", {"turnId": "turn_x"}),
        ("loopline.turn.steer", {"turnId": "turn_x", "text": "hi"}),
        ("loopline.turn.undo", {"turnId": "turn_x"}),
        ("loopline.turn.start", {"task": "hi", "sessionId": "sess_x"}),
        ("loopline.session.resume", {"sessionId": "sess_x"}),
        ("loopline.session.resume", {"sessionId": "../../etc/passwd"}),
        ("loopline.approval.answer", {"approvalId": "appr_x", "decision": "allow"}),
        ("loopline.model.select", {"model": "puppet", "sessionId": "sess_x"}),
        ("loopline.trust", {"uri": "file:///nowhere/at/all"}),
        ("loopline.nothing", {}),
    ],
)
async def test_an_unknown_id_is_an_error(client: LspClient, command: str, argument: Json) -> None:
    with pytest.raises(RpcError) as caught:
        await client.command(command, argument)
    assert caught.value.code == -32602


@pytest.mark.parametrize(
    ("argument", "named"),
    [
        ({}, "task"),
        ({"task": 5}, "task"),
        ({"task": "x", "range": {"start": {"line": "a"}}}, "line"),
        ({"task": "   "}, "empty"),
        ({"task": "x", "textDocument": "file:///a"}, "textDocument"),
        ([1, 2], "object"),
        ("text", "object"),
    ],
)
async def test_wrong_arguments_are_named(client: LspClient, argument: object, named: str) -> None:
    with pytest.raises(RpcError) as caught:
        await client.command("loopline.turn.start", argument)
    assert caught.value.code == -32602 and named in caught.value.message


async def test_without_a_folder_turns_are_refused(raw: LspClient, options: Json) -> None:
    await raw.initialize(None, options=options)
    with pytest.raises(RpcError) as caught:
        await start(raw, "do something")
    assert caught.value.data == {"code": "no_folder", "hint": "open a folder, then try again"}
    status = await raw.request("loopline/status", {})
    assert status["categories"][0]["state"] == "none"


async def test_a_turn_is_told_the_place_it_is_about(client: LspClient, root: Path, model: Puppet) -> None:
    uri = (root / "sums.py").as_uri()
    item = {"uri": uri, "languageId": "python", "version": 3, "text": "a = 1\nbbb = '😀2'\nc = 3\n"}
    await client.notify("textDocument/didOpen", {"textDocument": item})
    await client.turn(
        "what is this?",
        textDocument={"uri": uri},
        range={"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 11}},
        diagnostic={"message": "unused", "severity": 2, "source": "lint", "code": {"value": "E1", "target": "x"},
                    "range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 3}}},
    )  # fmt: skip
    heard = model.heard[-1]
    assert heard.startswith("what is this?\n")
    assert "`sums.py`, line 2" in heard and "bbb = '😀2'" in heard
    assert "sums.py:2: warning [lint E1]: unused" in heard


async def test_a_selection_of_a_secret_file_is_left_out(client: LspClient, root: Path, model: Puppet) -> None:
    uri = (root / ".env").as_uri()
    item = {"uri": uri, "languageId": "text", "version": 1, "text": "TOKEN=abc123\n"}
    await client.notify("textDocument/didOpen", {"textDocument": item})
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 12}}
    await client.turn("what is this?", textDocument={"uri": uri}, range=span)
    assert "abc123" not in model.heard[-1]


async def test_sessions_are_listed_resumed_and_read_back(client: LspClient, model: Puppet) -> None:
    fresh = await client.command("loopline.session.new", {})
    end = await client.turn(steps({"call": "list"}, {"text": "one"}), sessionId=fresh["sessionId"])
    assert end["sessionId"] == fresh["sessionId"]
    other = await client.command("loopline.session.new", {})
    assert other["sessionId"] != fresh["sessionId"]
    listed = (await client.command("loopline.session.list", {}))["sessions"]
    states = {session["sessionId"]: session["state"] for session in listed}
    assert states[fresh["sessionId"]] == "live" and states[other["sessionId"]] == "live"
    again = await client.command("loopline.session.resume", {"sessionId": fresh["sessionId"]})
    assert [turn["status"] for turn in again["turns"]] == ["completed"]
    # resumed is current: the next turn goes there
    end = await client.turn(steps({"text": "two"}))
    assert end["sessionId"] == fresh["sessionId"]

    page = await client.request("loopline/transcript", {"sessionId": fresh["sessionId"]})
    kinds = [entry["kind"] for entry in page["entries"]]
    assert kinds == ["user", "tool", "assistant", "user", "assistant"] and page["more"] is False
    assert page["entries"][1]["name"] == "list" and "sums.py" in page["entries"][1]["text"]
    last = await client.request("loopline/transcript", {"sessionId": fresh["sessionId"], "before": 4, "limit": 2})
    assert [entry["index"] for entry in last["entries"]] == [2, 3] and last["more"] is True


async def test_a_session_of_another_folder_is_not_resumed(
    client: LspClient, shared: Json, tmp_path: Path, model: Puppet
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    sessions: Path = shared["home"] / "state" / "loopline" / "sessions"
    sessions.mkdir(parents=True, exist_ok=True)
    header = f'{{"kind":"session","v":1,"id":"sess_other","created":"2026","roots":["{elsewhere}"],"model":"m"}}\n'
    (sessions / "sess_other.jsonl").write_text(header)
    listed = (await client.command("loopline.session.list", {}))["sessions"]
    assert "sess_other" not in {session["sessionId"] for session in listed}
    with pytest.raises(RpcError, match="belongs to"):
        await client.command("loopline.session.resume", {"sessionId": "sess_other"})


async def test_events_come_at_most_thirty_times_a_second(client: LspClient, model: Puppet) -> None:
    begun_s = asyncio.get_running_loop().time()
    noisy = "for i in $(seq 1 3000); do echo line $i; done; sleep 1; echo end"
    await client.turn(steps({"call": "shell", "args": {"command": noisy}}, {"text": "word " * 5_000}))
    took_s = asyncio.get_running_loop().time() - begun_s
    messages = client.of("$/loopline/event")
    assert len(messages) <= 30 * took_s + 2
    text = "".join(event["text"] for event in client.events("text.delta"))
    assert text == "word " * 5_000


async def test_models_are_told_and_chosen(client: LspClient, model: Puppet) -> None:
    await client.turn(steps({"text": "warm"}))
    found = await client.command("loopline.model.select", {})
    assert found["model"] == "puppet"
    chosen = await client.command("loopline.model.select", {"model": "puppet-2"})
    assert chosen["model"] == "puppet-2"
    await client.turn(steps({"text": "with the other model"}))
    assert model.service.creates[-1].body["model"] == "puppet-2"
    assert (await client.event("call", model="puppet-2"))["number"] >= 1
