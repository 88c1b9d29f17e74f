"""What a service says of its models: `GET /v1/models`."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agent_core.errors import AuthError, ServiceUnreachable
from agent_core.runtime.model_list import ModelEntry, read_models
from agent_core.transport.urls import is_loopback, models_url

TIMEOUT_S = 10.0
MAX_BYTES = 32 << 20
"""Gateways list thousands of models, each with prices and descriptions."""
KEY_HINT = "`loopline auth set openai --base-url URL` keeps one for a service; it goes to no other"


async def list_models(base_url: str, api_key: str | None, *, timeout_s: float = TIMEOUT_S) -> list[ModelEntry]:
    """Raises ServiceUnreachable, or AuthError where the key is refused. `base_url` ends in /v1."""
    return await asyncio.to_thread(_fetch, base_url, api_key, timeout_s)


def _fetch(base_url: str, api_key: str | None, timeout_s: float) -> list[ModelEntry]:
    from http.client import HTTPException  # these are slow to import, and most sessions never ask
    from urllib import error, request

    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    asked = request.Request(models_url(base_url), headers=headers)
    # A service on this machine is never behind a proxy.
    opener = request.build_opener(*([request.ProxyHandler({})] if is_loopback(base_url) else []), _stays())
    try:
        with opener.open(asked, timeout=timeout_s) as answer:
            data = answer.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ValueError(f"it is longer than {MAX_BYTES >> 20} MiB")
        return read_models(data)
    except error.HTTPError as refused:
        refused.close()
        if refused.code in (401, 403):
            raise AuthError("the service refused the key", hint=KEY_HINT) from None
        text = f"the service answers {refused.code} to /v1/models"
        raise ServiceUnreachable(text, hint="check base_url, or name the model") from None
    except json.JSONDecodeError:
        raise _no_list(base_url, "the answer is no JSON") from None
    except (OSError, ValueError, HTTPException) as wrong:
        said = str(wrong) if type(wrong) is ValueError else type(wrong).__name__
        raise _no_list(base_url, getattr(wrong, "reason", None) or said) from None


def _no_list(base_url: str, reason: object) -> ServiceUnreachable:
    return ServiceUnreachable(
        f"no list of models from {models_url(base_url).partition('?')[0]}: {reason}",
        hint="check base_url and that the service runs, or name the model with --model NAME",
    )


def _stays() -> Any:
    """A redirect is an answer like any other: a key goes to the origin it is for and nowhere else."""
    from urllib import request

    class Stays(request.HTTPRedirectHandler):
        def redirect_request(self, *asked: Any) -> None:
            return None

    return Stays()
