"""Settings that change within a conversation: `configuration_update` items.

They leave the request's own fields as they are, so that clients keep an equal prefix; each setting stays in effect
until a later update replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from agent_core.responses_server.request.options import Settings
from agent_core.wire.codec import encode, plain
from agent_core.wire.items import AnyItem, ConfigurationUpdate


class Configuration(msgspec.Struct, frozen=True):
    """What updates have set so far; None: nothing."""

    effort: str | None = None
    text_format: dict[str, Any] | None = None

    def behind(self, items: Iterable[AnyItem]) -> Configuration:
        """As it is after these items."""
        effort, text_format, newest = self.effort, self.text_format, None
        for item in items:
            if not isinstance(item, ConfigurationUpdate):
                continue
            if item.reasoning is not None and item.reasoning.effort is not None:
                effort = item.reasoning.effort
            if item.text is not None:
                newest = item.text
        if newest is not None:
            text_format = plain(encode(newest.format))
        return Configuration(effort, text_format)

    def over(self, settings: Settings) -> Settings:
        """The settings of a request with what the conversation has set since."""
        changes: dict[str, Any] = {}
        if self.effort is not None:
            changes["reasoning"] = {**(settings.reasoning or {}), "effort": self.effort}
        if self.text_format is not None:
            changes["text_format"] = self.text_format
        return msgspec.structs.replace(settings, **changes) if changes else settings


UNCHANGED = Configuration()
