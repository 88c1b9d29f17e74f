"""A Responses service whose answers are in the task itself, for tests of the language server.

A task's first line is a JSON list of steps; each call of the turn plays the next one:

    {"call": NAME, "args": {…}}     a tool call          {"calls": [[NAME, {…}], …]}  several at once
    {"text": "…"}                   the final answer     {"hold": KEY}                nothing, until the test says so
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.model import events as ev
from tests.support.model.scripted_service import Gone, Peer, ScriptedService
from tests.support.system.cli import environment

Json = dict[str, Any]
MANY = 5_000


class Puppet:
    """What the service saw, and what it waits for."""

    def __init__(self) -> None:
        self.service = ScriptedService([self._play] * MANY, [])
        self.outputs: list[str] = []
        """Of every tool call, in order."""
        self.heard: list[str] = []
        """Texts of users."""
        self.noted: list[str] = []
        """Texts of developers, which is how the agent tells what it knows."""
        self.tools: list[str] = []
        self._numbers = itertools.count(1)
        self._gates: dict[str, asyncio.Event] = {}
        self._reached: dict[str, asyncio.Event] = {}

    @property
    def base_url(self) -> str:
        return self.service.base_url

    def release(self, key: str) -> None:
        self._gate(self._gates, key).set()

    async def reached(self, key: str) -> None:
        """Wait until a turn holds at `key`."""
        async with asyncio.timeout(40):
            await self._gate(self._reached, key).wait()

    async def _play(self, peer: Peer) -> None:
        steps: list[Json] = []
        while True:
            create = await peer._frames.get()  # the session of an editor may be silent for long
            if create is None:
                raise Gone
            if create["type"] != "response.create":
                continue
            response = f"resp_{next(self._numbers)}"
            if create.get("generate") is False:
                await peer.send(*ev.warm(response))
                continue
            self.tools = [tool["name"] for tool in create.get("tools") or []] or self.tools
            fresh = False
            for item in create["input"]:
                if item.get("type") == "function_call_output":
                    self.outputs.append(item["output"])
                    fresh = True
                elif item.get("type") == "message" and item.get("role") == "user":
                    text = "".join(part["text"] for part in item["content"])
                    self.heard.append(text)
                    if text.startswith("["):
                        steps = json.loads(text.split("\n", 1)[0])
                    elif not fresh and not steps:
                        steps = [{"text": f"heard: {text}"}]
                elif item.get("role") == "developer":
                    self.noted.append("".join(part["text"] for part in item["content"]))
            await self._step(peer, response, steps.pop(0) if steps else {"text": "nothing to do"})

    async def _step(self, peer: Peer, response: str, step: Json) -> None:
        if "hold" in step:
            self._gate(self._reached, step["hold"]).set()
            await peer.send(*ev.response_started(response))
            gate = asyncio.ensure_future(self._gate(self._gates, step["hold"]).wait())
            gone = asyncio.ensure_future(peer.gone.wait())
            await asyncio.wait({gate, gone}, return_when=asyncio.FIRST_COMPLETED)
            for task in (gate, gone):
                task.cancel()
            if peer.gone.is_set():
                raise Gone
            await peer.send(*ev.ladder(response, ev.message(step.get("text", "released")))[2:])
            return
        calls = step.get("calls") or ([[step["call"], step.get("args", {})]] if "call" in step else [])
        items = [ev.tool_call(f"call_{next(self._numbers)}", name, json.dumps(args)) for name, args in calls]
        if "text" in step:
            items.insert(0, ev.message(step["text"]))
        await peer.send(*ev.ladder(response, *items))

    @staticmethod
    def _gate(gates: dict[str, asyncio.Event], key: str) -> asyncio.Event:
        return gates.setdefault(key, asyncio.Event())


def steps(*each: Json) -> str:
    """A task of these steps."""
    return json.dumps(list(each))


@asynccontextmanager
async def puppet() -> AsyncIterator[Puppet]:
    found = Puppet()
    await found.service.start()
    try:
        yield found
        assert found.service.violations == []
    finally:
        await found.service.stop_listening()
        await found.service.stop()


def puppet_env(home: Path, found: Puppet, **extra: str) -> Mapping[str, str]:
    """Settings that point a server at the puppet."""
    return environment(home, LOOPLINE_BASE_URL=found.base_url, LOOPLINE_MODEL="puppet", **extra)
