"""An MCP server that is a process: one JSON message a line over its standard input and output.

Owns the process and all its children until they are gone. A line, and what comes while nobody waits for it, is bounded:
a server that floods is ended.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO

from agent_core import launch
from agent_core.errors import ToolError
from agent_core.tools.commands.process_family import MARK, Family
from agent_core.tools.mcp.content import line

MAX_LINE_BYTES = 4_000_000
"""One message."""

MAX_BYTES_PER_CALL = 16_000_000
MAX_LINES_PER_CALL = 5_000
"""What may come between two requests of ours, notifications included."""

ERRORS_KEPT = 4_096
END_S = 1.0
"""How long a server may take to end by itself once its input is closed; then come SIGTERM and SIGKILL."""
TERM_S = 0.5
KILL_S = 2.0
EXIT_S = 0.5
"""How long the exit of a server that closed its output is waited for."""
WRITE_S = 10.0
"""A server that reads nothing for so long is given up."""
_PAUSE_S = 0.01


class ServerProcess:
    """Build with `start`; `end` must be called."""

    def __init__(self, process: subprocess.Popen[bytes], family: Family) -> None:
        self._process, self._family = process, family
        self._reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
        self._writer: asyncio.StreamWriter | None = None
        self._pipes: list[asyncio.BaseTransport] = []
        self._errors: deque[bytes] = deque()
        self._errors_bytes = 0
        self._bytes = self._lines = 0
        self.problem = ""
        """Why it was given up; "" while it was not."""
        self.ended = asyncio.Event()
        """Set once nothing more comes from it."""

    @classmethod
    async def start(cls, command: Sequence[str], cwd: str, environment: Mapping[str, str], mark: str) -> ServerProcess:
        """Raises ToolError `not_started`."""
        process = _spawn(command, cwd, {**environment, MARK: mark})
        made = cls(process, Family(process.pid, mark))
        try:
            await made._connect()
        except BaseException:
            made._family.signal(signal.SIGKILL)
            made._reap()
            raise
        return made

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        assert self._process.stdin is not None and self._process.stdout is not None
        assert self._process.stderr is not None
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._reader), self._process.stdout
        )
        errors, _ = await loop.connect_read_pipe(lambda: _Errors(self._keep_error), self._process.stderr)
        writing, protocol = await loop.connect_write_pipe(
            lambda: asyncio.streams.FlowControlMixin(), self._process.stdin
        )
        self._writer = asyncio.StreamWriter(writing, protocol, None, loop)
        self._pipes = [transport, errors, writing]

    def new_call(self) -> None:
        """A request of ours begins: what may come is counted anew."""
        self._bytes = self._lines = 0

    async def read(self) -> bytes | None:
        """The next line; None once the server sends no more, or was given up (`problem`)."""
        found = None
        try:
            found = await self._reader.readuntil()
        except asyncio.LimitOverrunError:
            self.problem = f"it sent a message above {MAX_LINE_BYTES:,} bytes"
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        else:
            self._bytes, self._lines = self._bytes + len(found), self._lines + 1
            if self._bytes > MAX_BYTES_PER_CALL or self._lines > MAX_LINES_PER_CALL:
                self.problem, found = "it sent more than was asked for", None
        if found is None:
            self.ended.set()
        return found

    async def write(self, data: bytes) -> None:
        """Raises ToolError `server_gone` if it takes nothing any more."""
        assert self._writer is not None
        try:
            async with asyncio.timeout(WRITE_S):
                self._writer.write(data + b"\n")
                await self._writer.drain()
        except (OSError, TimeoutError) as error:
            self.problem = self.problem or "it reads nothing"
            self.ended.set()
            raise ToolError("the server takes nothing any more", code="server_gone") from error

    async def how_it_ended(self) -> str:
        """Why it can't be used any more, for people: given up, its exit, its last words."""
        deadline = time.monotonic() + (0 if self.problem else EXIT_S)
        while (code := self._process.poll()) is None and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_PAUSE_S)
        state = self.problem or ("it closed its output" if code is None else f"it ended with {_exit(code)}")
        words = line(b"".join(self._errors).decode("utf-8", "replace").rstrip().rpartition("\n")[2], 200)
        return f"{state}: {words}" if words else state

    async def end(self) -> None:
        """Close its input, wait, then end all its processes. Bounded, also when cancelled."""
        try:
            if self._writer is not None:
                self._writer.close()
            if not await self._gone(END_S):
                self._family.signal(signal.SIGTERM, signal.SIGCONT)
                await self._gone(TERM_S)
        finally:
            self._kill()
            for pipe in self._pipes:
                pipe.close()
            self._reap()
            await asyncio.sleep(0)  # the pipes close on the loop's next round

    async def _gone(self, limit_s: float) -> bool:
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            self._process.poll()
            if not self._family.group_lives() and self._family.gone():
                return True
            await asyncio.sleep(_PAUSE_S)
        return False

    def _kill(self) -> None:
        deadline = time.monotonic() + KILL_S
        while not self._family.gone() and time.monotonic() < deadline:
            self._family.signal(signal.SIGKILL)
            self._process.poll()
            time.sleep(_PAUSE_S / 2)

    def _reap(self) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(KILL_S)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            _close(pipe)

    def _keep_error(self, data: bytes) -> None:
        self._errors.append(data[-ERRORS_KEPT:])
        self._errors_bytes += len(self._errors[-1])
        while self._errors_bytes - len(self._errors[0]) >= ERRORS_KEPT:
            self._errors_bytes -= len(self._errors.popleft())


class _Errors(asyncio.Protocol):
    """Hands on what a server writes to its standard error, so that the pipe is never full."""

    def __init__(self, keep: Callable[[bytes], None]) -> None:
        self._keep = keep

    def data_received(self, data: bytes) -> None:
        self._keep(data)


def _spawn(command: Sequence[str], cwd: str, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    try:
        return launch.popen(
            command,
            environment=environment,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = (error.strerror or type(error).__name__) if isinstance(error, OSError) else "a NUL character"
        raise ToolError(f"can't start {command[0]}: {reason}", code="not_started") from error


def _exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with suppress(OSError):
            pipe.close()
