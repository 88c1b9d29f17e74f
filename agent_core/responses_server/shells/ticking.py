"""Feeds the passing of time to a connection's machine, for both shells."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from agent_core.errors import ConnectionLost
from agent_core.protocol.server_actions import Action
from agent_core.protocol.server_connection import ServerConnection
from agent_core.protocol.server_inputs import Tick
from agent_core.responses_server.state.chain import ChainState


async def watch_time(
    machine: ServerConnection[ChainState],
    now_s: Callable[[], float],
    changed: asyncio.Event,
    perform: Callable[[Sequence[Action]], Awaitable[None]],
) -> None:
    """Feed TICK whenever it is due, until cancelled or the peer is gone. Set `changed` when one may be due earlier."""
    with suppress(ConnectionLost):
        while True:
            changed.clear()
            deadline_s = machine.deadline_s
            delay_s = None if deadline_s is None else max(0.0, deadline_s - now_s())
            with suppress(TimeoutError):
                async with asyncio.timeout(delay_s):
                    await changed.wait()
                continue
            await perform(machine.on(Tick(), now_s()))
