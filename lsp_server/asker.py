"""Approvals asked of the user of one editor: what a person reads and may answer.

What is asked is shown whole. What does not fit a message is shown in a document, and can't be allowed before that; an
editor that shows no documents may only deny it, and the answer can be given elsewhere (`loopline tui`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types as lsp

from agent_core.telemetry.display import one_line, visible
from agent_core.turns.approval import Approval, Decision
from lsp_server.client import Client
from lsp_server.rpc.errors import ClientGone, ClientRefused

TITLES: dict[str, Decision] = {"Allow": "allow", "Always allow": "always", "Deny": "deny"}
SHOW = "Show all of it"
MAX_SHOWN = 800
"""Characters of what is asked that fit a message; editors clip longer ones by themselves."""


class Asker:
    """Asks with `window/showMessageRequest`, unless the editor's plugin asks by itself."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def answers(self) -> bool:
        """Whether the editor's plugin puts questions of the model to its user."""
        return self._client.has("questions")

    async def __call__(self, approval: Approval) -> Decision:
        """Cancelled once somebody else answered, or it took too long. Raises ClientGone."""
        if not self._client.has("approvals"):
            try:
                return await self._asked(approval)
            except ClientGone:
                raise
            except ClientRefused:
                pass  # it can't ask: the approval stays open, and can be answered by command or elsewhere
        await asyncio.get_running_loop().create_future()
        raise AssertionError("never set")

    async def _asked(self, approval: Approval) -> Decision:
        if fits(approval):
            return await self._answer(words(approval), titles(approval))
        if not self._client.shows_documents:
            return await self._answer(words(approval), ["Deny"])
        title = await self._choice(words(approval), [SHOW, "Deny"])
        if title != SHOW:
            return "deny"
        with _written(approval) as path:
            if not await self._client.show(path.as_uri()):
                return await self._answer(words(approval), ["Deny"])
            return await self._answer(f"{_wanted(approval)}: all of {path.name}", titles(approval))

    async def _answer(self, message: str, offered: list[str]) -> Decision:
        title = await self._choice(message, offered)
        return TITLES[title] if title in offered and title in TITLES else "deny"

    async def _choice(self, message: str, offered: list[str]) -> str | None:
        return await self._client.choose(lsp.MessageType.Warning, message, offered)


def fits(approval: Approval) -> bool:
    """Whether a message can show all of what is asked."""
    return len(visible(approval.subject)) <= MAX_SHOWN


def titles(approval: Approval) -> list[str]:
    """What may be answered; "always" only where it would be kept."""
    return [title for title, decision in TITLES.items() if approval.always or decision != "always"]


def words(approval: Approval) -> str:
    """The approval on a few lines, control characters spelled out; of what does not fit, only how long it is."""
    if fits(approval):
        return f"{_wanted(approval)}: {visible(approval.subject)}"
    length = f"{len(approval.subject):,} characters, too long for a message"
    return f"{_wanted(approval)}: {length}. `loopline tui` shows all of it."


def _wanted(approval: Approval) -> str:
    what = "run" if approval.kind == "command" else "use"
    return f"Loopline wants to {what} {one_line(approval.name, 80)}"


@contextlib.contextmanager
def _written(approval: Approval) -> Iterator[Path]:
    """What is asked as a file that only its owner reads, until it is answered."""
    descriptor, name = tempfile.mkstemp(prefix="loopline-approval-", suffix=".txt")
    path = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(visible(approval.subject) + "\n")
        yield path
    finally:
        path.unlink(missing_ok=True)
