"""Which service and model a session talks to: decided from settings and keys alone.

Neither a base URL nor `OPENAI_API_KEY`: the embedded service with the model `repair`. The key of any URL is
`OPENAI_API_KEY`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agent_core.config import Settings
from agent_core.errors import ConfigError
from agent_core.keys import Keys

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODEL = "gpt-5.5"
EMBEDDED_MODEL = "repair"
REPAIR_NOTE = "a search over program edits, no model"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """`base_url` None: start the embedded service. `api_key` None: send none. `note` says where there is no model."""

    base_url: str | None
    model: str
    api_key: str | None = None
    note: str = ""


def choose(settings: Settings, env: Mapping[str, str]) -> Endpoint:
    """Raises ConfigError where a base URL is set without a model."""
    key = Keys(env).get("openai")
    if settings.base_url is None and key is None:
        model = settings.model or EMBEDDED_MODEL
        return Endpoint(base_url=None, model=model, note=REPAIR_NOTE if model == EMBEDDED_MODEL else "")
    if settings.base_url is None:
        return Endpoint(base_url=OPENAI_URL, model=settings.model or OPENAI_MODEL, api_key=key)
    if settings.model is None:
        raise ConfigError(
            "settings", "model", "a model name together with base_url",
            hint="add --model NAME; GET /v1/models of the service lists the names",
        )  # fmt: skip
    note = REPAIR_NOTE if settings.model == EMBEDDED_MODEL else ""
    return Endpoint(base_url=settings.base_url, model=settings.model, api_key=key, note=note)
