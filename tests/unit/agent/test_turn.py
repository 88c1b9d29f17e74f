"""A turn over a scripted service: what is kept when it breaks off, what stops it, what a person is told."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent_core.agent.limits import Limits
from agent_core.errors import LimitReached
from agent_core.telemetry import events as ev
from agent_core.telemetry.rollup.prices import Price, PriceTable
from agent_core.turns.events import ApprovalAsked, ApprovalEnded, TextDelta, TextDone, ToolOutput, TurnEnded
from tests.support.agent.session import working
from tests.support.model import events as make
from tests.support.model.scripted_service import Peer, Post, Refuse, SocketScript, replies, running

WARM = make.warm("resp_w")


def shell(n: int, command: str) -> list[dict[str, Any]]:
    call = make.tool_call(f"call_{n}", name="shell", arguments=json.dumps({"command": command}))
    return make.ladder(f"resp_{n}", make.reasoning(item_id=f"rs_{n}"), call)


def reading(n: int, **fields: Any) -> list[dict[str, Any]]:
    return make.ladder(f"resp_{n}", make.tool_call(f"call_{n}"), **fields)


END = make.ladder("resp_end", make.message("all done", "msg_end"))
LONG = make.ladder("resp_1", make.message("half of a long answer"))


async def test_words_of_a_reply_that_is_cancelled_stay_and_are_marked(tmp_path: Path) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(WARM)
        await peer.next()
        await peer.send(*LONG[:5])
        await peer.left()

    again = replies(END)
    async with running(script, again) as service, working(service.base_url, tmp_path, drain_timeout_s=0.05) as work:
        handle = work.session.start_turn("talk")
        await work.until(TextDelta)
        work.session.cancel(handle.turn)
        async with asyncio.timeout(30):
            assert (await handle.done).status == "cancelled"
        partial = work.items[-1]
        assert (partial["role"], partial["status"]) == ("assistant", "incomplete")
        assert partial["content"][0]["text"] == "half of a l\n[broken off: cancelled by the user]"
        assert work.seen(TextDone)[-1].text == partial["content"][0]["text"]
        assert (await work.session.run_turn("go on")).status == "completed"
        assert partial in service.creates[-1].input


async def test_words_of_a_reply_that_is_asked_for_anew_do_not_stay(tmp_path: Path) -> None:
    async def breaking(peer: Peer) -> None:
        await peer.answer(WARM)
        await peer.next()
        await peer.send(*LONG[:5])
        await peer.drop()

    async with running(breaking, replies(END)) as service, working(service.base_url, tmp_path) as work:
        assert (await work.session.run_turn("talk")).status == "completed"
    assert [item["content"][0]["text"] for item in work.items if item.get("role") == "assistant"] == ["all done"]
    assert work.notices == ["reconnecting 1/5: connection_lost", "reconnected; the conversation was sent again in full"]


async def test_words_of_a_reply_that_fails_for_good_stay(tmp_path: Path) -> None:
    failed = {"type": "response.failed", "sequence_number": 5}
    body = make.response("resp_1", "failed", error={"code": "invalid_prompt", "message": "no"})
    sockets = replies(WARM, [*LONG[:5], failed | {"response": body}])
    async with running(sockets) as service, working(service.base_url, tmp_path) as work:
        assert (await work.session.run_turn("talk")).status == "failed"
    assert work.items[-1]["content"][0]["text"] == "half of a l\n[broken off: invalid_prompt]"


async def test_a_cancelled_command_leaves_what_it_printed_and_no_process(tmp_path: Path) -> None:
    sockets = replies(WARM, shell(1, "echo one; sleep 0.1; echo two; sleep 60"), END)
    async with running(sockets) as service, working(service.base_url, tmp_path) as work:
        handle = work.session.start_turn("run it")
        async with asyncio.timeout(20):
            while [line.line for line in work.seen(ToolOutput)][-1:] != ["two"]:
                work.changed.clear()
                await work.changed.wait()
        work.session.cancel(handle.turn)
        async with asyncio.timeout(30):
            assert (await handle.done).status == "cancelled"
        output = work.items[-1]
        assert (output["type"], output["call_id"]) == ("function_call_output", "call_1")
        assert output["output"].startswith("one\ntwo\n[cancelled by the user")
        assert (await work.session.run_turn("go on")).status == "completed"


async def test_an_approval_that_is_open_when_the_turn_is_cancelled_is_withdrawn(tmp_path: Path) -> None:
    """codex#11005, zed#62788: approvals that pend for ever."""
    sockets = replies(WARM, shell(1, "true"))
    async with (
        running(sockets) as service,
        working(service.base_url, tmp_path, approve="ask", remote=True) as work,
    ):
        handle = work.session.start_turn("run it")
        asked = await work.until(ApprovalAsked)
        assert len(work.session.approvals.pending()) == 1
        work.session.cancel(handle.turn)
        async with asyncio.timeout(30):
            assert (await handle.done).status == "cancelled"
        assert work.session.approvals.pending() == []
        assert not work.session.approvals.answer(asked.approval.approval_id, "allow", by="test")
        assert [ended.decision for ended in work.seen(ApprovalEnded)] == ["withdrawn"]
        assert work.items[-1]["output"] == "cancelled by the user"


async def test_each_item_is_on_disk_before_the_front_end_hears_of_it_or_a_tool_runs(tmp_path: Path) -> None:
    sockets = replies(WARM, shell(1, "cat ../sessions/*.jsonl"), END)
    async with running(sockets) as service, working(service.base_url, tmp_path) as work:
        await work.session.run_turn("run it")
        output = next(item for item in work.items if item["type"] == "function_call_output")["output"]
        assert '"call_id":"call_1"' in output.replace(" ", "").replace("\\", "")
        assert "run it" in output and "rs_1" in output


async def test_cost_is_counted_by_list_price_and_stops_the_turn(tmp_path: Path) -> None:
    prices = PriceTable("2026-01-01", {"m": Price(1_000.0, 10_000.0, 100.0)})
    cost = (20 - 12) * 1_000 + 12 * 100 + 7 * 10_000  # dollars per million calls of `make.USAGE`
    limits = Limits(cost_usd=1.5 * cost / 1e6)
    sockets = replies(WARM, reading(1), reading(2))
    async with running(sockets) as service, working(service.base_url, tmp_path, limits=limits, prices=prices) as work:
        outcome = await work.session.run_turn("read on")
    assert outcome.calls == 2 and isinstance(outcome.error, LimitReached)
    assert outcome.error.code == "limit_cost"
    assert work.notices[-1].startswith("stopped at the limit of this turn: ")


@pytest.mark.parametrize("back", [False, True])
async def test_what_a_limit_cuts_off_in_mid_try_is_said_to_stay(tmp_path: Path, back: bool) -> None:
    def edit(n: int, old: str, new: str) -> list[dict[str, Any]]:
        given = json.dumps({"path": "m.py", "old": old, "new": new})
        return make.ladder(f"resp_{n}", make.tool_call(f"call_{n}", name="edit", arguments=given))

    sockets = replies(WARM, edit(1, "x = 1", "x = 2"), edit(2, "x = 2", "x = 1" if back else "x = 3"), END)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "m.py").write_text("x = 1\n", encoding="utf-8")
    async with running(sockets) as service, working(service.base_url, tmp_path, limits=Limits(calls=2)) as work:
        outcome = await work.session.run_turn("try numbers")
        assert isinstance(outcome.error, LimitReached)
        told = [text for text in work.notices if "stays as it is, finished or not (m.py)" in text]
        assert bool(told) is not back, work.notices
    assert (tmp_path / "project" / "m.py").read_text(encoding="utf-8") == ("x = 1\n" if back else "x = 3\n")


async def test_a_cost_limit_on_a_model_without_a_price_says_so_once(tmp_path: Path) -> None:
    async with (
        running(replies(WARM, END)) as service,
        working(service.base_url, tmp_path, limits=Limits(cost_usd=0.01)) as work,
    ):
        assert (await work.session.run_turn("hello")).status == "completed"
    assert work.notices == ["`limits.cost` can't be watched: the price of m is not known"]


async def test_what_changed_since_the_last_turn_is_told_before_the_users_words(tmp_path: Path) -> None:
    sockets = replies(WARM, reading(1), make.ladder("resp_2", make.message("read")), END)
    async with running(sockets) as service, working(service.base_url, tmp_path) as work:
        path = work.parts.roots[0] / "a.py"
        path.write_text("one\n")
        await work.session.run_turn("read a.py")
        path.write_text("two\n")
        await work.session.run_turn("go on")
        note, words = service.creates[-1].input
    assert note["role"] == "developer" and "+two" in note["content"][0]["text"]
    assert words["content"][0]["text"] == "go on"


async def test_every_change_of_the_way_is_a_line(tmp_path: Path) -> None:
    """Rotation, fallback to HTTP and the return to WebSocket, as a person sees them."""
    posts = [Post(make.ladder("resp_2", make.message("over http")))]
    sockets: list[SocketScript | Refuse] = [
        replies(WARM, reading(1)),
        Refuse(426),
        replies(END, make.ladder("resp_4", make.message("still"))),
    ]
    async with running(*sockets, posts=posts) as service, working(service.base_url, tmp_path) as work:

        async def lose() -> None:
            for peer in service.peers:
                await peer.drop()

        work.toolbox.before = lose  # the connection goes while the tool runs
        await work.session.run_turn("read a.py")
        work.clock.jump(301)
        await work.session.run_turn("and now?")
    lines = work.notices
    assert lines[0].startswith("WebSocket does not work (handshake_refused); using HTTP")
    assert lines[1:] == ["back on WebSocket"]
    assert [event.transport for event in work.sink.events if isinstance(event, ev.CallSent)] == [
        "websocket", "websocket", "http", "websocket",
    ]  # fmt: skip
    assert [ended.status for ended in work.seen(TurnEnded)] == ["completed", "completed"]


@pytest.mark.parametrize("reason", ["max_output_tokens", "content_filter"])
async def test_a_reply_that_the_service_cut_off_ends_the_turn_with_every_call_answered(
    tmp_path: Path, reason: str
) -> None:
    cut = reading(1, status="incomplete", incomplete_details={"reason": reason})
    async with running(replies(WARM, cut, END)) as service, working(service.base_url, tmp_path) as work:
        outcome = await work.session.run_turn("read")
        assert outcome.status == "failed" and reason in outcome.text
        assert work.items[-1]["output"] == "not run: the reply was cut off"
        assert work.toolbox.runs == {}
        assert (await work.session.run_turn("go on")).status == "completed"
