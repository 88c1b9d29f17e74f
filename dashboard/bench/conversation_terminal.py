"""`loopline` on a pseudo terminal, as it is measured from outside: keys go in, what it writes is looked through."""

from __future__ import annotations

import os
import pty
import re
import select
import termios
import time
from pathlib import Path
from types import TracebackType

from agent_core import launch, process_cost
from agent_core.bench.figures import rank
from agent_core.bench.serving import KEY
from agent_core.variables import variables

WAIT_S = 120.0
SEEN_BYTES = 20_000
"""Of what was written, as much of its end is looked through."""
ROWS, COLUMNS = 40, 120
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")


class ConversationTerminal:
    """A process in a home and a folder of its own. Use it as a context manager, which ends it."""

    def __init__(self, home: Path, service: str) -> None:
        """`service` is its address, ending in /v1; its model `scripted` answers."""
        project = home / "project"
        project.mkdir(parents=True, exist_ok=True)
        places = {f"XDG_{name}": str(home / name.lower()) for name in ("CONFIG_HOME", "STATE_HOME", "CACHE_HOME")}
        (home / "run").mkdir(mode=0o700, exist_ok=True)
        self._main, child = pty.openpty()
        termios.tcsetwinsize(child, (ROWS, COLUMNS))
        self._began_s = time.perf_counter()
        self._process = launch.popen(
            launch.own_module("agent_core"),
            environment=launch.own_environment(
                variables(), HOME=str(home), XDG_RUNTIME_DIR=str(home / "run"), TERM="xterm-256color",
                COLORTERM="truecolor", OPENAI_API_KEY=KEY, LOOPLINE_BASE_URL=service, LOOPLINE_MODEL="scripted",
                **places,
            ),
            cwd=project,
            stdin=child,
            stdout=child,
            stderr=child,  # where Textual draws
        )  # fmt: skip
        os.close(child)
        self._seen = b""

    def __enter__(self) -> ConversationTerminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._main)

    def press(self, keys: str) -> None:
        os.write(self._main, keys.encode())

    def until(self, shown: str) -> None:
        """Take what it writes until that was drawn since `forget`. Raises RuntimeError if it ends or takes `WAIT_S`
        seconds."""
        give_up_s = time.perf_counter() + WAIT_S
        while not self._shows(shown):
            left_s = give_up_s - time.perf_counter()
            if left_s <= 0 or not select.select([self._main], [], [], left_s)[0]:
                raise RuntimeError("the conversation of the benchmark shows nothing more")
            try:
                self._seen = (self._seen + os.read(self._main, 65_536))[-SEEN_BYTES:]
            except OSError:
                raise RuntimeError("the conversation of the benchmark ended") from None

    def forget(self) -> None:
        """What was drawn so far counts no more."""
        self._seen = b""

    def cpu_s(self) -> float:
        """Of the process that a shell waits for and of the one that converses."""
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return process_cost.cpu_s(pid) + sum(map(process_cost.cpu_s, children))

    def age_s(self) -> float:
        return time.perf_counter() - self._began_s

    def echo_ms(self, keys: str) -> list[float]:
        """Of each key, from pressing it to its letter on the screen."""
        taken: list[float] = []
        for at in range(len(keys)):
            began_s = time.perf_counter()
            self.press(keys[at])
            self.until(keys[: at + 1])
            taken.append((time.perf_counter() - began_s) * 1000)
        return taken

    def _shows(self, text: str) -> bool:
        return text in drawn(self._seen)


def drawn(written: bytes) -> str:
    """What a terminal was sent, without colours and movements."""
    return _SEQUENCE.sub(b"", written).decode("utf-8", "replace")


def middle_and_worst(values: list[float]) -> tuple[float, float]:
    return rank(values, 0.5), max(values)
