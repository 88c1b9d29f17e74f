"""What a service says of its models: `GET /v1/models`."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from agent_core.errors import AuthError, ServiceUnreachable
from agent_core.transport.urls import is_loopback, models_url

TIMEOUT_S = 10.0
MAX_BYTES = 4 << 20
KEY_HINT = "`loopline auth set openai --base-url URL` keeps one for a service; it goes to no other"


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True):
    """`capabilities` is None where the service does not say; that says nothing against the model."""

    id: str
    capabilities: dict[str, bool] | None = None


class _Listing(msgspec.Struct):
    data: list[dict[str, Any]]


async def list_models(base_url: str, api_key: str | None, *, timeout_s: float = TIMEOUT_S) -> list[ModelEntry]:
    """Raises ServiceUnreachable, or AuthError where the key is refused. `base_url` ends in /v1."""
    return await asyncio.to_thread(_fetch, base_url, api_key, timeout_s)


def _fetch(base_url: str, api_key: str | None, timeout_s: float) -> list[ModelEntry]:
    from urllib import error, request  # slow to import, and most sessions never ask

    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    asked = request.Request(models_url(base_url), headers=headers)
    # A service on this machine is never behind a proxy.
    opener = request.build_opener(*([request.ProxyHandler({})] if is_loopback(base_url) else []), _stays())
    try:
        with opener.open(asked, timeout=timeout_s) as answer:
            listing = msgspec.json.decode(answer.read(MAX_BYTES), type=_Listing)
    except error.HTTPError as refused:
        if refused.code in (401, 403):
            raise AuthError("the service refused the key", hint=KEY_HINT) from None
        text = f"the service answers {refused.code} to /v1/models"
        raise ServiceUnreachable(text, hint="check base_url, or name the model") from None
    except (OSError, ValueError, msgspec.DecodeError) as wrong:
        reason = getattr(wrong, "reason", None) or type(wrong).__name__
        raise ServiceUnreachable(
            f"no list of models from {models_url(base_url).partition('?')[0]}: {reason}",
            hint="check base_url and that the service runs, or name the model with --model NAME",
        ) from None
    return [_entry(found) for found in listing.data if isinstance(found.get("id"), str)]


def _stays() -> Any:
    """A redirect is an answer like any other: a key goes to the origin it is for and nowhere else."""
    from urllib import request

    class Stays(request.HTTPRedirectHandler):
        def redirect_request(self, *asked: Any) -> None:
            return None

    return Stays()


def _entry(found: dict[str, Any]) -> ModelEntry:
    stated = found.get("capabilities")
    if not isinstance(stated, dict):
        return ModelEntry(id=found["id"])
    return ModelEntry(id=found["id"], capabilities={str(name): value is True for name, value in stated.items()})
