"""A long session: made shorter twice on the way, and but for that every call goes on from the one before."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.hosting.session import HostOptions, host_session
from agent_core.telemetry.emitter import ListSink
from agent_core.telemetry.events import CallCompleted, CallSent
from agent_core.turns.events import ContextSize, TurnEvent


async def played(project: Path, turns: int) -> None:
    """Turns of two calls each, with two compactions between them."""
    for n in range(60):
        (project / f"{n} {'long ' * 20}name.txt").touch()
    sink, told = ListSink(), list[TurnEvent]()
    options = HostOptions(roots=(project,), client="test", flags={"model": "scripted", "approve": "auto"})
    shorter = {turns // 3, 2 * turns // 3}
    async with host_session(options, observer=told.append, sinks=(sink,)) as hosted:
        for number in range(turns):
            if number in shorter:
                before = [event.tokens for event in told if isinstance(event, ContextSize)][-1]
                assert await hosted.session.compact()
                after = [event for event in told if isinstance(event, ContextSize)][-1]
                assert after.estimated and after.tokens < before
            assert (await hosted.session.run_turn(f"look around, {number}")).status == "completed"
    sent = [event for event in sink.events if isinstance(event, CallSent) and not event.warmup]
    assert len(sent) == 2 * turns and all(event.attempt == 1 for event in sent)
    anew = [at for at, event in enumerate(sent) if event.reuse != "reused"]
    # the first may go on from the warm-up; a compaction costs one full input, and says so
    assert [at for at in anew if at] == sorted(2 * number for number in shorter)
    assert {sent[at].reuse for at in anew if at} == {"full_resend"}
    ended = {event.call: event for event in sink.events if isinstance(event, CallCompleted)}
    for at, event in enumerate(sent):
        if at and at not in anew:  # all that the call before had is there
            before_it = ended[sent[at - 1].call].input_tokens or 0
            assert (ended[event.call].cached_tokens or 0) >= before_it > 0


async def test_calls_go_on_from_each_other_but_after_a_compaction(tmp_path: Path) -> None:
    await played(tmp_path, turns=12)


@pytest.mark.soak
@pytest.mark.timeout(1_800)
async def test_three_hundred_calls(tmp_path: Path) -> None:
    await played(tmp_path, turns=150)
