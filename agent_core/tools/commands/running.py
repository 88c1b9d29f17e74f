"""One command that runs: its process, its output, its end.

Owns the child process from its start until every process of its family is gone.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO

import msgspec

from agent_core import launch
from agent_core.errors import ToolError
from agent_core.tools.commands.output import MAX_OUTPUT_BYTES, Capture, LastLine
from agent_core.tools.commands.process_family import MARK, Family, command_line

TERM_GRACE_S = 0.4
"""How long processes may take to end after SIGTERM; then comes SIGKILL."""

KILL_LIMIT_S = 2.0
KILL_ROUNDS = 20
KILL_PAUSE_S = 0.005
POLL_EVERY_S = 0.01
WRITE_LIMIT_S = 5.0
WRITE_PAUSE_S = 0.01
LINGER_S = 0.1
"""How long output may still come after the command itself ended."""

MAX_TOTAL_BYTES = 256_000_000
"""A command that prints more is stopped."""

_CHUNK_BYTES = 65_536
MAX_DRAINED_CHUNKS = 64
_PROGRESS_EVERY_S = 0.05


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """`timeout_s` None: no time limit. The environment is complete (nothing is inherited)."""

    argv: Sequence[str]
    cwd: str
    environment: Mapping[str, str]
    timeout_s: float | None
    max_output_bytes: int = MAX_OUTPUT_BYTES
    max_total_bytes: int = MAX_TOTAL_BYTES
    stdin: bytes = b""
    """What the command may read; then comes the end of the file."""
    keep_stdin: bool = False
    """True: `Running.write` feeds the command, and its input stays open."""
    wrapper: str = ""
    """The program that confines the command; its own processes are not worth telling."""
    screen: bytes = b""
    """A filter of system calls that the wrapper is handed: as an open file, with `--seccomp` before its first `--`."""
    raw: bool = False
    """True: the bytes as printed are wanted, `Outcome.raw`, and no text."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`exit_code` as a shell would report it (128 + signal); None if a limit ended the command.

    `stopped_by`: "" or the limit, "time" or "output". `ended` names processes that were still there when the command
    was over and were ended; `survivors` could not be.
    """

    exit_code: int | None
    output: str
    total_bytes: int
    duration_s: float
    stopped_by: str = ""
    ended: tuple[str, ...] = ()
    survivors: tuple[int, ...] = ()
    raw: bytes = b""
    told: tuple[str, ...] = ()
    """Lines about what the command left that was set aside."""


class Running:
    """A started command. `close` must be called; it kills what may still live.

    `mark` is in the environment of all its processes. Raises ToolError `not_started`.
    """

    def __init__(self, command: Command, mark: str, progress: Callable[[str], None]) -> None:
        self._command = command
        self._progress = progress
        self._loop = asyncio.get_running_loop()
        self._capture = Capture(command.max_output_bytes)
        self._earlier_bytes = 0
        self._last_line = LastLine()
        self._next_progress = 0.0
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._end_of_output: asyncio.Future[None] = self._loop.create_future()
        self._flooded: asyncio.Future[None] = self._loop.create_future()
        self._stopped_by = ""
        self._ended: list[str] = []
        self._survivors: tuple[int, ...] = ()
        self._started = time.monotonic()
        self._output, writer = os.pipe()
        try:
            self._process = _start(command, mark, writer)
        except BaseException:
            os.close(self._output)
            raise
        finally:
            os.close(writer)
        self._poller: asyncio.TimerHandle | None = None
        self._stdin = _nonblocking(self._process.stdin) if command.keep_stdin else None
        self._family = Family(self._process.pid, mark, self._output)
        os.set_blocking(self._output, False)
        self._loop.add_reader(self._output, self._on_output)
        self._exit_handle = _exit_handle(self._process.pid)
        if self._exit_handle is None:
            self._poll()
        else:
            self._loop.add_reader(self._exit_handle, self._on_exit)

    @property
    def exited(self) -> bool:
        """True once the command's own process ended."""
        return self._exited.done()

    def take(self) -> str:
        """The output since the last call, cleaned and cut."""
        self._drain()
        taken, self._capture = self._capture, Capture(self._command.max_output_bytes)
        self._earlier_bytes += taken.total_bytes
        return taken.text()

    async def write(self, data: bytes) -> None:
        """Feed the command. Raises ToolError `no_input` if it does not read on for a while, or reads no more."""
        if self._stdin is None:
            raise ToolError("this process takes no input", code="no_input")
        try:
            async with asyncio.timeout(WRITE_LIMIT_S):
                while data:
                    try:
                        data = data[os.write(self._stdin, data) :]
                    except BlockingIOError:
                        await asyncio.sleep(WRITE_PAUSE_S)
        except BrokenPipeError as error:
            raise ToolError("the process takes no input any more", code="no_input") from error
        except TimeoutError as error:
            raise ToolError(f"the process read nothing for {WRITE_LIMIT_S:g} s", code="no_input") from error

    async def wait(self) -> None:
        """Until the command's own process ended or a limit was reached."""
        await asyncio.wait(
            (self._exited, self._flooded), timeout=self._command.timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
        if not self._exited.done():
            self._stopped_by = "output" if self._flooded.done() else "time"

    async def settle(self) -> None:
        """Take the last output and end what the command left behind."""
        if self._stopped_by:
            await self.end()
            return
        if not self._end_of_output.done():
            await asyncio.wait((self._end_of_output,), timeout=LINGER_S)
        if not self._end_of_output.done() or self._family.group_lives():
            members = self._family.members()
            if members:
                lines = [command_line(member) for member in members]
                own = self._command.wrapper
                # A wrapper that is about to end has no command line any more.
                self._ended = [line for line in lines if not own or not line.startswith((own, "process "))]
                await self.end()
            self._drain()

    async def end(self) -> None:
        """SIGTERM to the whole family, SIGKILL to what is left of it; at once if cancelled meanwhile."""
        try:
            # A stopped process takes SIGTERM only once it goes on.
            self._family.signal(signal.SIGTERM, signal.SIGCONT)
            if not await self._gone(TERM_GRACE_S, None):
                await self._gone(KILL_LIMIT_S, signal.SIGKILL)
        finally:
            self._survivors = self._kill_now()
        self._drain()

    def _drain(self) -> None:
        """Take what is in the pipe by now."""
        for _ in range(MAX_DRAINED_CHUNKS):
            if self._end_of_output.done():
                return
            before = self._capture.total_bytes
            self._on_output()
            if self._capture.total_bytes == before:
                return

    def _kill_now(self) -> tuple[int, ...]:
        """SIGKILL until nobody is left, without giving up control; who resists is returned."""
        for _ in range(KILL_ROUNDS):
            self._family.signal(signal.SIGKILL)
            self._process.poll()
            if self._family.gone():
                return ()
            time.sleep(KILL_PAUSE_S)
        return tuple(member.pid for member in self._family.members())

    async def _gone(self, limit_s: float, number: signal.Signals | None) -> bool:
        deadline = time.monotonic() + limit_s
        pause_s = 0.004
        while True:
            if number is not None:
                self._family.signal(number)
            self._process.poll()
            if self._family.gone():
                return True
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            await asyncio.sleep(min(pause_s, left_s))
            pause_s = min(pause_s * 2, 0.05)

    def outcome(self) -> Outcome:
        code = self._process.returncode
        return Outcome(
            exit_code=None if self._stopped_by or code is None else (code if code >= 0 else 128 - code),
            output="" if self._command.raw else self._capture.text(),
            raw=self._capture.kept() if self._command.raw else b"",
            total_bytes=self._earlier_bytes + self._capture.total_bytes,
            duration_s=time.monotonic() - self._started,
            stopped_by=self._stopped_by,
            ended=tuple(self._ended),
            survivors=self._survivors,
        )

    def close(self) -> None:
        """Release everything; never waits long."""
        for handle in (self._output, self._exit_handle):
            if handle is not None:
                self._loop.remove_reader(handle)
                os.close(handle)
        if self._poller is not None:
            self._poller.cancel()
        if self._process.stdin is not None:
            self._process.stdin.close()
            self._stdin = None
        if self._process.returncode is None:
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(KILL_LIMIT_S)

    def _on_exit(self) -> None:
        if self._process.poll() is not None:
            if self._exit_handle is not None:
                self._loop.remove_reader(self._exit_handle)
            if not self._exited.done():
                self._exited.set_result(None)

    def _poll(self) -> None:
        """Looks for the exit where the system has no handle for it (macOS)."""
        self._on_exit()
        if not self._exited.done():
            self._poller = self._loop.call_later(POLL_EVERY_S, self._poll)

    def _on_output(self) -> None:
        try:
            data = os.read(self._output, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._output)
            if not self._end_of_output.done():
                self._end_of_output.set_result(None)
            return
        self._capture.feed(data)
        if self._earlier_bytes + self._capture.total_bytes > self._command.max_total_bytes and not self._flooded.done():
            self._flooded.set_result(None)
        self._last_line.feed(data)
        now = time.monotonic()
        if now >= self._next_progress and (line := self._last_line.take()):
            self._next_progress = now + _PROGRESS_EVERY_S
            self._progress(line)


def _nonblocking(pipe: IO[bytes] | None) -> int | None:
    if pipe is None:
        return None
    os.set_blocking(pipe.fileno(), False)
    return pipe.fileno()


def _exit_handle(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


@contextmanager
def _input(command: Command) -> Iterator[int | IO[bytes]]:
    if not command.stdin:
        yield subprocess.PIPE if command.keep_stdin else subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(command.stdin)
        file.seek(0)
        yield file


@contextmanager
def _screened(command: Command) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """The arguments, and what is handed to the child."""
    argv = list(command.argv)
    if not command.screen:
        yield argv, ()
        return
    handle = os.memfd_create("screen", os.MFD_CLOEXEC)
    try:
        os.write(handle, command.screen)
        os.lseek(handle, 0, os.SEEK_SET)
        at = argv.index("--")
        yield [*argv[:at], "--seccomp", str(handle), *argv[at:]], (handle,)
    finally:
        os.close(handle)


def _start(command: Command, mark: str, writer: int) -> subprocess.Popen[bytes]:
    try:
        with _input(command) as stdin, _screened(command) as (argv, handed):
            return launch.popen(
                argv,
                pass_fds=handed,
                environment={**command.environment, MARK: mark},
                cwd=command.cwd,
                stdin=stdin,
                stdout=writer,
                stderr=writer,
                new_session=True,
            )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it holds a NUL character"
        raise ToolError(
            f"can't start {command.argv[0]}: {reason or type(error).__name__}", code="not_started"
        ) from error
