"""What the features of one editor hear of, by kind, in the order in which they registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

from agent_core.turns.events import TurnEvent
from agent_core.turns.views import TurnView
from lsp_server.documents.documents import Document

P = ParamSpec("P")


class Channel(Generic[P]):
    """One kind of thing to hear of; call it to tell. Owns the list of those who hear."""

    def __init__(self) -> None:
        self._hooks: list[Callable[P, None]] = []

    def add(self, hook: Callable[P, None]) -> None:
        """`hook` returns at once, and lasts as long as the editor."""
        self._hooks.append(hook)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        for hook in self._hooks:
            hook(*args, **kwargs)


class Bus:
    """Belongs to one editor."""

    def __init__(self) -> None:
        self.negotiated: Channel[[]] = Channel()
        """It has said what it can do; nothing may be sent yet."""
        self.started: Channel[[]] = Channel()
        """It is ready for requests."""
        self.configured: Channel[[]] = Channel()
        """Settings, folders' trust or the connection to the model changed."""
        self.opened: Channel[[Document]] = Channel()
        self.saved: Channel[[Document]] = Channel()
        self.closed: Channel[[Document]] = Channel()
        self.edited: Channel[[Document, int, int]] = Channel()
        """A turn changed these lines (first and last, from 0) of an open document."""
        self.asked: Channel[[str, TurnView, int | str | None]] = Channel()
        """A turn was asked for in this session, with the progress token of the request."""
        self.cancelled: Channel[[str]] = Channel()
        """A turn is being cancelled."""
        self.updated: Channel[[str, TurnEvent]] = Channel()
        """Something happened in this session, which the editor watches."""
        self.progress_cancelled: Channel[[int | str]] = Channel()
        """The user cancelled the progress of this token."""
