"""What the commands need of the app that they work for."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent_core.clock import Clock
from agent_core.errors import LooplineError
from dashboard.agent.paint.status import Standing
from dashboard.agent.screen import ConversationScreen
from dashboard.agent.sessions.options import AgentOptions
from dashboard.agent.talk import Talk

if TYPE_CHECKING:
    from agent_core.config.settings import Notify
    from dashboard.agent.sessions.desk import Opened


class Front(Protocol):
    """The app: where things are shown and asked. `settled` is what of the standing only settings and folder say."""

    options: AgentOptions
    root: Path
    clock: Clock
    talk: Talk
    conversation: ConversationScreen
    settled: Standing
    notify_by: Notify

    def show(self, opened: Opened) -> None:
        """Take a session up."""

    def note(self, text: str) -> None: ...
    def say_wrong(self, error: LooplineError) -> None: ...
    def in_background(self, work: Awaitable[object], group: str) -> None: ...
    def now_s(self) -> float: ...
    def suspend(self) -> AbstractContextManager[None]: ...
    def redraw(self) -> None: ...
    async def choose(self, sheet: Any) -> Any:
        """What the person chose on a sheet."""
