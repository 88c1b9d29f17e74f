"""How a session reaches its model. Durations in seconds; the defaults are what a user gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from agent_core.errors import ConfigError
from agent_core.transport.websocket import MAX_FRAME_BYTES, PING_INTERVAL_S, PING_TIMEOUT_S

TIMING_HEADER = "x-responsesapi-include-timing-metrics"
"""Asks for stage times: the event `responsesapi.websocket_timing` (openai/codex, `responses_websocket`)."""

TransportPolicy = Literal["auto", "websocket", "http"]
"""`auto`: WebSocket, and HTTP where that does not work. The other two never change over."""


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one `ModelSession`. `base_url` is what OPENAI_BASE_URL holds, `api_key` None sends no
    Authorization."""

    base_url: str
    api_key: str | None = None
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Further request headers, for the upgrade and for POSTs."""
    transport: TransportPolicy = "auto"
    own_service: bool = False
    """The service knows `response.cancel`; else a cancelled response is waited for, or its connection is closed."""
    lanes: bool | None = None
    """Whether the service grants named lanes. None: our own and api.openai.com do; elsewhere a service of the first
    generation would answer on the default lane, so that sub-tasks get connections of their own."""

    open_timeout_s: float = 15.0
    ping_interval_s: float = PING_INTERVAL_S
    ping_timeout_s: float = PING_TIMEOUT_S
    silence_limit_s: float | None = 1800.0
    """Longest pause inside a response of a peer that still answers pings; None: no limit."""
    max_frame_bytes: int = MAX_FRAME_BYTES
    """Larger requests go by HTTP."""

    ask_timeout_s: float = 120.0
    """Longest wait for the answer to a single question, such as a standalone compaction."""
    rotate_after_s: float = 55 * 60.0
    """Age at which a connection is replaced between two calls; services end it at 60 minutes."""
    rotate_ahead_s: float = 60.0
    """How long before that the next connection is opened."""

    reconnect_limit: int = 5
    """How often one call is tried again after faults, on WebSocket and then on HTTP."""
    backoff_first_s: float = 0.2
    backoff_most_s: float = 8.0
    retry_after_most_s: float = 120.0
    """A service that asks for a longer pause than this ends the call instead."""
    websocket_again_after_s: float = 300.0
    """How long HTTP is used after WebSocket failed."""

    cancel_timeout_s: float = 1.0
    """How long a service of ours may take to end a cancelled response."""
    drain_timeout_s: float = 1.0
    """How long another service's cancelled response may run on before its connection is closed."""

    @property
    def grants_lanes(self) -> bool:
        if self.lanes is not None:
            return self.lanes
        return self.own_service or urlsplit(self.base_url).hostname == "api.openai.com"

    def __repr__(self) -> str:
        return f"ModelSettings(base_url={self.base_url.partition('?')[0]!r}, transport={self.transport!r})"

    def request_headers(self) -> dict[str, str]:
        """Headers of every request, the key among them: never log them.

        Raises ConfigError for a key that can't be a header; white space around it (a file's last newline) is dropped.
        """
        headers = {"User-Agent": "loopline", TIMING_HEADER: "true", **self.headers}
        key = (self.api_key or "").strip()
        if key:
            if not (key.isascii() and key.isprintable()) or " " in key:
                raise ConfigError("the service's key", "api_key", "printable ASCII characters without spaces")
            headers["Authorization"] = f"Bearer {key}"
        return headers
