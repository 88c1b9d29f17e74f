"""The process that a shell waits for, before the one that converses.

A shell takes the terminal back once the process that it started is gone. So that a turn can go on in the background,
the conversation runs in a child; its parent only waits. It hands signals on, stops and goes on with the child, ends as
the child did, and gives the terminal back where the child was killed. A child whose parent is gone ends as if the
terminal was closed.
"""

from __future__ import annotations

import os
import signal
import termios
import time
from types import FrameType
from typing import Any

from dashboard.agent.ending import give_back

HANDED_ON = (signal.SIGTERM, signal.SIGHUP)
GONE_TO_BACKGROUND = signal.SIGUSR1
GO_ON_S = 0.2


class Leash:
    """The child's end. `alive` can be read from once the parent is gone."""

    def __init__(self, parent: int, alive: int) -> None:
        self._parent, self.alive = parent, alive

    def let_go(self) -> None:
        """Leave the terminal for good: the shell goes on, and its end does not matter here."""
        os.close(self.alive)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        os.close(nothing)
        os.setsid()
        os.kill(self._parent, GONE_TO_BACKGROUND)


def on_a_leash() -> Leash:
    """Goes on in the child; the parent ends with it and never returns. Call it while there is one thread."""
    alive, held = os.pipe()
    attributes = termios.tcgetattr(0)
    signal.signal(GONE_TO_BACKGROUND, lambda number, frame: os._exit(0))
    child = os.fork()
    if child:
        os.close(alive)
        os._exit(_wait(child, attributes))
    signal.signal(GONE_TO_BACKGROUND, signal.SIG_DFL)
    os.close(held)
    return Leash(os.getppid(), alive)


def _go_on(child: int) -> None:
    """A shell continues both; whoever continues this process alone means the child too. To be continued twice would
    make it take the terminal twice."""
    time.sleep(GO_ON_S)
    if os.waitpid(child, os.WCONTINUED | os.WNOHANG)[0] == 0:
        os.kill(child, signal.SIGCONT)


def _wait(child: int, attributes: list[Any]) -> int:
    def hand_on(number: int, frame: FrameType | None) -> None:
        os.kill(child, number)

    for number in HANDED_ON:
        signal.signal(number, hand_on)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it means the child, or the editor that runs there
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)
            _go_on(child)
        elif os.WIFSIGNALED(status):
            give_back(attributes)
            return 128 + os.WTERMSIG(status)
        else:
            return os.waitstatus_to_exitcode(status)
