"""The terminal dashboard's follower against the real hub: both ends of the seam."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from agent_core.errors import AuthError
from agent_core.telemetry.events import Event
from dashboard.hub.store.records import day_of
from dashboard.state.fold import State
from dashboard.tui.hub_feed import HubFollower
from tests.support.hub.stores import batch_of, work
from tests.support.telemetry.scene import Scene
from tests.support.web.running import running_site


async def test_a_terminal_follows_a_hub_and_folds_the_same(tmp_path: Path) -> None:
    async with running_site(tmp_path) as site:
        scene = Scene(source="h1-1-1")
        scene.clock.set_wall(site.clock.wall_ns() - 60 * 10**9)
        scene.start_session("shop")
        work(scene)
        await site.hub.accept("blue", "ann", batch_of(scene.events))
        token = site.token("ann", "viewer", "blue")
        follower = HubFollower(site.url, token, since=day_of(site.hub.now_us() - 10**11), clock=site.clock)
        got: list[Event] = []
        sent = 0
        async with asyncio.timeout(20), contextlib.aclosing(follower.batches()) as batches:
            async for batch in batches:
                got += batch.events
                if len(got) == len(scene.events) and sent == 0:
                    sent = len(scene.events)
                    work(scene)
                    await site.hub.accept("blue", "ann", batch_of(scene.events[sent:]))
                elif len(got) >= len(scene.events):
                    break
        assert got == scene.events
        assert State().apply_all(got).rollup.summary() == State().apply_all(scene.events).rollup.summary()


async def test_a_wrong_token_is_told(tmp_path: Path) -> None:
    async with running_site(tmp_path) as site:
        follower = HubFollower(site.url, "llh_wrong", since="2026-01-01", clock=site.clock)
        with pytest.raises(AuthError):
            async with asyncio.timeout(10), contextlib.aclosing(follower.batches()) as batches:
                async for _ in batches:
                    pass
