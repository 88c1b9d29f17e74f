"""Commands that go on in the background of a session: used over turns, gone with a cancelled one or the session."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agent_core.hosting.session import HostOptions, host_session
from agent_core.turns.events import ToolEnded, TurnEvent
from tests.support.lsp.puppet import puppet, puppet_env, steps
from tests.support.system.processes import alive
from tests.support.system.waiting import lines_of_file

LIVES = "echo $$ >> pids; sleep 300"


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"call": name, "args": arguments}


async def test_it_lives_over_turns_and_ends_with_a_cancelled_one_or_the_session(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    seen: list[TurnEvent] = []
    async with asyncio.timeout(100), puppet() as model:
        env = puppet_env(tmp_path / "home", model, LOOPLINE_SANDBOX="off")
        options = HostOptions(roots=(root,), client="test", env=env, flags={"approve": "auto"})
        async with host_session(options, observer=seen.append) as hosted:
            session = hosted.session
            await session.run_turn(steps(call("shell", command=LIVES, background=True), {"text": "end"}))
            (first,) = [int(line) for line in await lines_of_file(root / "pids")]
            assert alive(first), "a turn that ended leaves it"
            await session.run_turn(steps(call("process", id="p1"), {"text": "end"}))
            assert [update.output for update in seen if isinstance(update, ToolEnded)][-1] == "running"

            handle = session.start_turn(steps(call("shell", command=LIVES, background=True), {"hold": "here"}))
            second = int((await lines_of_file(root / "pids", 2))[1])
            await model.reached("here")
            session.cancel(handle.turn)
            async with asyncio.timeout(30):
                assert (await handle.done).status == "cancelled"
            assert not alive(second) and alive(first), "what the cancelled turn started is gone, the rest stays"
        assert not alive(first)
