"""Questions to the user of one editor: what a person reads and may answer."""

from __future__ import annotations

import asyncio

from lsprotocol import types as lsp

from agent_core.turns.approval import Approval, Decision
from lsp_server.client import Client
from lsp_server.rpc.errors import ClientGone, ClientRefused

TITLES: dict[str, Decision] = {"Allow": "allow", "Always allow": "always", "Deny": "deny"}
MAX_SHOWN = 800


class Asker:
    """Asks with `window/showMessageRequest`, unless the editor's plugin asks by itself."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def __call__(self, approval: Approval) -> Decision:
        """Cancelled once somebody else answered, or it took too long. Raises ClientGone."""
        if not self._client.has("approvals"):
            try:
                title = await self._client.choose(lsp.MessageType.Warning, words(approval), titles(approval))
            except ClientGone:
                raise
            except ClientRefused:
                pass  # it can't ask: the question stays open, and can be answered by command or elsewhere
            else:
                return TITLES.get(title or "", "deny")
        await asyncio.get_running_loop().create_future()
        raise AssertionError("never set")


def titles(approval: Approval) -> list[str]:
    """What may be answered; "always" only where it would be kept."""
    return [title for title, decision in TITLES.items() if approval.always or decision != "always"]


def words(approval: Approval) -> str:
    """The question on a few lines, without control characters."""
    shown = "".join(c if c == "\n" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in approval.subject)
    if len(shown) > MAX_SHOWN:
        shown = f"{shown[:MAX_SHOWN]} … ({len(approval.subject)} characters)"
    what = "run" if approval.kind == "command" else "use"
    return f"Loopline wants to {what} {approval.name}: {shown}"
