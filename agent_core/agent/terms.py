"""What a session may do and spend. Owned by the session; a running turn goes by what it says now."""

from __future__ import annotations

import msgspec

from agent_core.agent.approvals.policy import Policy
from agent_core.agent.limits import Limits
from agent_core.telemetry.rollup.prices import LIST_PRICES, PriceTable


class TurnPolicy(msgspec.Struct, kw_only=True):
    """Replaced piece by piece when settings change."""

    policy: Policy
    limits: Limits
    prices: PriceTable = LIST_PRICES

    def take(self, other: TurnPolicy) -> None:
        """From now on these hold."""
        self.policy, self.limits, self.prices = other.policy, other.limits, other.prices
