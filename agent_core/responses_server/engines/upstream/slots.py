"""Whether a server is llama.cpp's, and how many slots it has (`GET /props`, beside /v1)."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit, urlunsplit

import msgspec

from agent_core.responses_server.engines.upstream.settings import UpstreamSettings
from agent_core.transport.urls import is_loopback

TIMEOUT_S: Final = 3.0
MOST_SLOTS: Final = 1024


class _Props(msgspec.Struct):
    total_slots: int = 0


async def count_slots(settings: UpstreamSettings) -> int:
    """0 for one slot, for servers of other kinds, and where it can't be found out. Never raises."""
    import httpx

    parts = urlsplit(settings.address(""))
    url = urlunsplit((parts.scheme, parts.netloc, parts.path.removesuffix("/v1") + "/props", parts.query, ""))
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=not is_loopback(url)) as client:
            answer = await client.get(url, headers=settings.all_headers)
        count = msgspec.json.decode(answer.content, type=_Props).total_slots if answer.status_code == 200 else 0
    except (httpx.HTTPError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return 0
    return count if 1 < count <= MOST_SLOTS else 0
