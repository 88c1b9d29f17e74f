"""Plan mode: nothing is written, whatever the model tries; effort and mode in what is sent, and what a change costs."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from agent_core.errors import UsageError
from agent_core.model.capabilities import ModelBook
from agent_core.telemetry.events import CallCompleted, CallSent, TurnFinished
from agent_core.turns.events import ToolEnded, TurnEnded
from agent_core.turns.options import TurnOptions
from tests.support.agent.session import working
from tests.support.model import events as make
from tests.support.model.scripted_service import replies, running
from tests.support.suite.parts import program
from tests.support.system.cli import environment, loopline, tree

PLAN = TurnOptions(mode="plan")
PATCH = "*** Begin Patch\n*** Add File: made.txt\n+x\n*** End Patch"
END = make.ladder("resp_end", make.message("First this, then that.", "msg_end"))
WARM = make.warm("resp_w")


def _call(name: str, number: int, **arguments: Any) -> dict[str, Any]:
    return make.tool_call(f"call_{number}", name=name, arguments=json.dumps(arguments))


def _free_form(number: int) -> dict[str, Any]:
    return {"type": "custom_tool_call", "id": f"ctc_{number}", "call_id": f"call_{number}", "name": "apply_patch",
            "input": PATCH, "status": "completed"}  # fmt: skip


def attempts(random_: random.Random, outside: Path, first: int) -> list[dict[str, Any]]:
    """Calls that would write, of every kind that there is."""
    commands = (
        "echo x > made.txt", "rm -rf kept.txt", "mkdir made", "touch .git/made", "git init -q .",
        "mv kept.txt gone.txt", "chmod 777 kept.txt", f"echo x > {outside}", "ln -s /etc made",
        "python3 -c \"open('made.txt','w')\"",
        "(sleep 0.1; echo x > late.txt) & echo x >> kept.txt", "truncate -s 0 kept.txt", "cp kept.txt copy.txt",
    )  # fmt: skip
    found: list[dict[str, Any]] = []
    for number in range(first, first + random_.randint(1, 3)):
        kind = random_.choice(("edit", "patch", "custom", "shell", "shell", "background", "process", "checks", "read"))
        match kind:
            case "edit":
                found.append(_call("edit", number, path="kept.txt", old="kept", new="lost"))
            case "patch":
                found.append(_call("patch", number, patch=PATCH))
            case "custom":
                found.append(_free_form(number))
            case "shell" | "background":
                background = {"background": True} if kind == "background" else {}
                found.append(_call("shell", number, command=random_.choice(commands), **background))
            case "process":
                found.append(_call("process", number, id="p1", input="rm kept.txt\n"))
            case "checks":
                found.append(_call("checks", number))
            case _:
                found.append(_call("read", number, path="kept.txt"))
    return found


async def rollout(seed: int, folder: Path) -> list[ToolEnded]:
    """Play one in plan mode; what became of its calls. Nothing may be different afterwards."""
    random_ = random.Random(seed)
    project, outside = folder / "project", folder / "outside.txt"
    project.mkdir(parents=True)
    (project / "kept.txt").write_text("kept\n")
    (project / "test_a.py").write_text("def test_a():\n    open('made-by-test.txt', 'w')\n")
    before = tree(project)
    said = [make.ladder(f"resp_{n}", *attempts(random_, outside, 10 * n)) for n in range(random_.randint(1, 3))]
    async with (
        running(replies(WARM, *said, END)) as service,
        working(service.base_url, folder, sandbox=True, book=ModelBook(free_form=True), model="gpt-5") as work,
    ):
        outcome = await work.session.run_turn("try it", PLAN)
        names = {tool["name"] for tool in service.creates[-1].body["tools"]}
        assert names.isdisjoint({"edit", "patch", "apply_patch", "process"}) and "read" in names
        assert outcome.text == "First this, then that."
        assert work.seen(TurnEnded)[-1].mode == "plan"
        ended = work.seen(ToolEnded)
    assert tree(project) == before and not outside.exists()
    assert all(not end.files_changed and not end.diff for end in ended)
    assert all(end.status == "denied" for end in ended if end.name in ("edit", "patch", "process"))
    return ended


async def test_nothing_is_written_in_plan_mode(tmp_path: Path) -> None:
    program("bwrap")
    ended = [end for seed in range(6) for end in await rollout(seed, tmp_path / str(seed))]
    assert {"edit", "patch", "shell"} <= {end.name for end in ended}
    assert any(end.name == "shell" and end.status == "ok" for end in ended)


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_nothing_is_written_in_plan_mode_in_five_hundred_rollouts(tmp_path: Path) -> None:
    program("bwrap")
    for seed in range(500):
        await rollout(seed, tmp_path / str(seed))


async def test_without_a_sandbox_plan_mode_runs_no_command(tmp_path: Path) -> None:
    said = make.ladder("resp_1", _call("shell", 1, command="echo x > made.txt"))
    async with running(replies(WARM, said, END)) as service, working(service.base_url, tmp_path) as work:
        await work.session.run_turn("try it", PLAN)
        assert {"shell", "checks"}.isdisjoint(tool["name"] for tool in service.creates[-1].body["tools"])
        (ended,) = work.seen(ToolEnded)
    assert ended.status == "denied" and not (tmp_path / "project" / "made.txt").exists()


async def test_a_plan_is_carried_out_by_the_next_turn_of_the_same_session(tmp_path: Path) -> None:
    """What a change of mode costs: one create with the whole input, each way."""
    patch = make.ladder("resp_2", _call("patch", 1, patch=PATCH))
    async with (
        running(replies(WARM, END, patch, make.ladder("resp_3", make.message("Done.", "msg_3")))) as service,
        working(service.base_url, tmp_path) as work,
    ):
        await work.session.run_turn("make it", PLAN)
        outcome = await work.session.run_turn("Carry out the plan.")
        said = [item["content"][0]["text"] for item in work.items if item.get("role") == "developer"]
        creates = service.creates
        sent = [event.reuse for event in work.sink.events if isinstance(event, CallSent)]
        modes = [event.mode for event in work.sink.events if isinstance(event, TurnFinished)]
    assert outcome.status == "completed" and (tmp_path / "project" / "made.txt").read_text() == "x\n"
    assert [text.split(":")[0] for text in said[1:]] == ["Plan mode", "Plan mode is over"]
    assert [create.previous for create in creates] == [None, None, None, "resp_2"]
    assert sent == ["first", "full_resend", "full_resend", "reused"]
    assert modes == ["plan", "act"]


async def test_effort_is_of_the_session_or_of_one_turn_and_its_change_costs_one_full_input(tmp_path: Path) -> None:
    answers = [make.ladder(f"resp_{n}", make.message("yes", f"msg_{n}")) for n in range(5)]
    async with running(replies(WARM, *answers)) as service, working(service.base_url, tmp_path, model="gpt-5") as work:
        await work.session.run_turn("one")
        await work.session.run_turn("two", TurnOptions(effort="high"))
        work.session.use_effort("high", summary=True)
        await work.session.run_turn("three")
        await work.session.run_turn("four")
        with pytest.raises(UsageError, match="takes no effort 'xhigh'"):
            work.session.start_turn("five", options=TurnOptions(effort="xhigh"))
        creates = service.creates[1:]
        efforts = [event.effort for event in work.sink.events if isinstance(event, CallCompleted)][1:]
    assert [create.body.get("reasoning") for create in creates] == [
        None, {"effort": "high"}, {"effort": "high", "summary": "auto"}, {"effort": "high", "summary": "auto"},
    ]  # fmt: skip
    assert [create.previous for create in creates] == ["resp_w", None, None, "resp_2"]
    assert efforts == [None, "high", "high", "high"]


def test_run_refuses_an_effort_that_its_model_does_not_take_before_anything_starts(tmp_path: Path) -> None:
    done = loopline("run", "x", "--effort", "high", "-w", str(tmp_path), env=environment(tmp_path / "home"))
    assert done.code == 2 and "repair takes no effort" in done.err
    done = loopline("run", "x", "--effort", "huge", "-w", str(tmp_path), env=environment(tmp_path / "home"))
    assert done.code == 2 and "none, minimal, low, medium, high or xhigh" in done.err


def test_run_in_plan_mode_ends_with_the_way_to_carry_the_plan_out(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    env = environment(tmp_path / "home")
    done = loopline("run", "do it", "--plan", "--effort", "low", "--model", "scripted", "-w", str(project), env=env)
    assert done.code == 0 and "nothing was changed" in done.out
    session = done.out.split("--resume ")[1].split(" ")[0]
    again = loopline("run", "Carry out the plan.", "--resume", session, "--json", env=env)
    assert again.code == 0 and again.summary["status"] == "completed"
    planned = loopline("run", "do it", "--plan", "--json", "--model", "scripted", "-w", str(project), env=env)
    (ended,) = [line for line in planned.lines if line["type"] == "turn.finished"]
    assert ended["mode"] == "plan" and tree(project) == {}
