"""Which service and model a session talks to: decided from settings and keys alone.

Neither a base URL nor `OPENAI_API_KEY`: the embedded service with the model `repair`. The key of any URL is
`OPENAI_API_KEY`, else the kept one if it was set for that URL's origin. A URL without a model: the only one that the
service lists.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agent_core.config import Settings
from agent_core.errors import ConfigError
from agent_core.keys import Keys
from agent_core.runtime.models import list_models

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODEL = "gpt-5.5"
EMBEDDED_MODEL = "repair"
EMBEDDED_URL = ""
"""As `base_url` of a session that is resumed: the embedded service, whatever keys there are now."""
REPAIR_NOTE = "a search over program edits, no model"
MAX_LISTED = 20


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """`base_url` None: start the embedded service. `model` "": ask the service. `api_key` None: send none. `note` says
    where there is no model."""

    base_url: str | None
    model: str
    api_key: str | None = None
    note: str = ""


def choose(settings: Settings, env: Mapping[str, str]) -> Endpoint:
    """The endpoint as far as settings and keys tell it; `completed` finds out the rest."""
    key = Keys(env).get("openai", settings.base_url or OPENAI_URL)
    if settings.base_url == EMBEDDED_URL or (settings.base_url is None and key is None):
        model = settings.model or EMBEDDED_MODEL
        return Endpoint(base_url=None, model=model, note=_note(model))
    if settings.base_url is None:
        return Endpoint(base_url=OPENAI_URL, model=settings.model or OPENAI_MODEL, api_key=key)
    model = settings.model or ""
    return Endpoint(base_url=settings.base_url, model=model, api_key=key, note=_note(model))


async def completed(endpoint: Endpoint, *, before: str = "") -> Endpoint:
    """The endpoint with a model: the only one that the service lists, or the one of `before`, which the session used
    so far, if it is among several. Raises ConfigError where the service has several, or none; ServiceUnreachable or
    AuthError where it does not list them."""
    if endpoint.model or endpoint.base_url is None:
        return endpoint
    found = [entry.id for entry in await list_models(endpoint.base_url, endpoint.api_key)]
    if before in found:
        return msgspec.structs.replace(endpoint, model=before, note=_note(before))
    if len(found) != 1:
        listed = ", ".join(found[:MAX_LISTED]) + (", …" if len(found) > MAX_LISTED else "")
        raise ConfigError(
            "settings", "model", "a model name together with base_url",
            got=f"none, and the service has {listed}" if found else "none, and the service lists no model",
            hint="add --model NAME" if found else None,
        )  # fmt: skip
    return msgspec.structs.replace(endpoint, model=found[0], note=_note(found[0]))


def _note(model: str) -> str:
    return REPAIR_NOTE if model == EMBEDDED_MODEL else ""
