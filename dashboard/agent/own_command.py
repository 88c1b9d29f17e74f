"""A command of the person's own (`!command`), run in the conversation's folder; its output is shown and shared, so it
gets no keys."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from agent_core import launch
from agent_core.text import to_json
from agent_core.variables import holds_key, variables
from dashboard.agent.conversation.blocks import Tool

MAX_LINES = 2_000
"""Latest lines that are kept."""
SHARED_CHARACTERS = 16_000
"""Of the output, as much of its end goes to the model."""
TOLD_S = 0.1
"""Lines come to the page together, so often."""
LINE_BYTES = 1 << 20


class OwnCommand:
    """Runs once. Owns its process."""

    def __init__(
        self, key: str, command: str, folder: Path, told: Callable[[Tool], None], now_s: Callable[[], float]
    ) -> None:
        self._key, self._command, self._folder, self._told, self._now_s = key, command, folder, told, now_s
        self._process: asyncio.subprocess.Process | None = None
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self._stopped = False

    def stop(self) -> bool:
        """End it and whatever it started; False if it is over."""
        process = self._process
        if process is None or process.returncode is not None:
            return False
        self._stopped = True
        os.killpg(process.pid, signal.SIGTERM)
        return True

    async def run(self) -> str:
        """What the model is told of it."""
        began_s, told_s = self._now_s(), 0.0
        own = {name: value for name, value in variables().items() if not holds_key(name)}
        self._tell(None, began_s)
        try:
            self._process = await launch.start(
                [own.get("SHELL") or "/bin/sh", "-c", self._command],
                environment=own,
                cwd=self._folder,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                new_session=True,
            )
        except OSError as error:
            self._lines.append(str(error.strerror))
            self._tell("error", began_s)
            return f"I tried to run `{self._command}`: {error.strerror}"
        try:
            async for line in _lines(self._process):
                self._lines.append(line)
                if self._now_s() - told_s > TOLD_S:
                    told_s = self._now_s()
                    self._tell(None, began_s)
            code = await self._process.wait()
        finally:
            if self._process.returncode is None:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._tell("cancelled" if self._stopped else "ok" if code == 0 else "error", began_s, code)
        output = "\n".join(self._lines)[-SHARED_CHARACTERS:]
        return f"I ran `{self._command}` myself; it ended with {code}. Its output:\n\n{output}"

    def _tell(self, status: str | None, began_s: float, code: int | None = None) -> None:
        over = status is not None
        self._told(
            Tool(
                key=self._key,
                name="you ran",
                arguments=to_json({"command": self._command}).decode(),
                status=status,  # type: ignore[arg-type]
                summary="" if code is None else "goes along with your next message" if code == 0 else f"exit {code}",
                output="\n".join(self._lines) if over else "",
                tail=tuple(self._lines)[-6:],
                duration_ms=(self._now_s() - began_s) * 1000 if over else None,
                mine=True,
            )
        )


async def _lines(process: asyncio.subprocess.Process) -> AsyncIterator[str]:
    """Lines of its output; one longer than `LINE_BYTES` comes in pieces."""
    assert process.stdout is not None
    kept = b""
    while piece := await process.stdout.read(65_536):
        *whole, kept = (kept + piece).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace")
        if len(kept) > LINE_BYTES:
            yield kept.decode("utf-8", "replace")
            kept = b""
    if kept:
        yield kept.decode("utf-8", "replace")
