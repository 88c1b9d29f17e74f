"""Seeded interleavings of prompts, cancels, choices and permissions in two sessions of one client.

What holds for each: every request is answered once, a turn that is cancelled ends, the file system shows no command
that was denied, and the agent goes on.
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from tests.support.acp.client import WAIT_S, AcpClient, Json, prompting
from tests.support.lsp.puppet import steps

STOPS = {"end_turn", "cancelled"}


class Interleaving:
    """One of them, by its seed."""

    def __init__(self, client: AcpClient, folder: Path, seed: int) -> None:
        self.client, self.folder, self.seed = client, folder, seed
        self.random = random.Random(seed)
        self.sessions: list[str] = []
        self.turns: list[asyncio.Future[Json]] = []
        self.allowed: set[str] = set()
        self.number = 0

    async def run(self) -> None:
        self.client.handlers["session/request_permission"] = self._permit
        self.sessions = [await self.client.new(self.folder) for _ in range(2)]
        for _ in range(self.random.randint(3, 9)):
            await self.random.choices((self._prompt, self._cancel, self._choose, self._close), weights=(6, 4, 1, 1))[
                0
            ]()
            for _ in range(self.random.randint(0, 30)):
                await asyncio.sleep(0)
        for session in self.sessions:
            await self.client.notify("session/cancel", {"sessionId": session})
        async with asyncio.timeout(WAIT_S):
            ended = await asyncio.gather(*self.turns)
        assert {each["stopReason"] for each in ended} <= STOPS, self.seed
        ran = {place.name for place in self.folder.glob(f"{self.seed}-*")}
        assert ran <= self.allowed, self.seed
        for session in self.sessions:
            await self.client.ask("session/close", {"sessionId": session})
        numbers = [answer["id"] for answer in self.client.answers]
        assert len(numbers) == len(set(numbers)), self.seed
        self.client.answers.clear()
        self.client.updates.clear()

    async def _prompt(self) -> None:
        self.number += 1
        name = f"{self.seed}-{self.number}"
        calls = [{"call": "shell", "args": {"command": f"touch {name}"}} for _ in range(self.random.randint(0, 2))]
        task = steps(*calls, {"text": "Done."})
        self.turns.append(self.client.begin("session/prompt", prompting(self.random.choice(self.sessions), task))[1])

    async def _cancel(self) -> None:
        await self.client.notify("session/cancel", {"sessionId": self.random.choice(self.sessions)})

    async def _choose(self) -> None:
        mode = self.random.choice(("ask", "plan"))
        await self.client.ask("session/set_mode", {"sessionId": self.random.choice(self.sessions), "modeId": mode})

    async def _close(self) -> None:
        at = self.random.randrange(len(self.sessions))
        await self.client.ask("session/close", {"sessionId": self.sessions[at]})
        self.sessions[at] = await self.client.new(self.folder)

    async def _permit(self, params: Json) -> Json:
        """At once, late, or as a client that closed its dialog."""
        for _ in range(self.random.choice((0, 0, 3, 200))):
            await asyncio.sleep(0)
        answer = self.random.choice(("allow", "allow", "deny", "cancelled"))
        if answer == "cancelled":
            return {"outcome": {"outcome": "cancelled"}}
        if answer == "allow":
            text = params["toolCall"]["content"][0]["content"]["text"]
            self.allowed.add(text.split("\n")[0].removeprefix("touch "))
        return {"outcome": {"outcome": "selected", "optionId": answer}}
