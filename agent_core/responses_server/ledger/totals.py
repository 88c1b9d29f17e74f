"""Sums of closed entries by API key. Pure."""

from __future__ import annotations

from agent_core.responses_server.ledger.port import Account, Total


def add(totals: dict[str, Total], account: Account) -> None:
    """Add one entry to the sums of its key."""
    total = totals.setdefault(account.intent.key, Total())
    total.responses += 1
    total.unsettled += account.state == "unsettled"
    total.input_tokens += account.input_tokens or 0
    total.output_tokens += account.output_tokens or 0
    total.cost_nano += account.cost_nano or 0
