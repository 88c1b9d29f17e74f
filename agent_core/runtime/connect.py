"""How a session reaches its model: the settings of the model port, from endpoint, settings and the session's id."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any
from urllib.parse import urlsplit

import msgspec

from agent_core.config.settings import Settings, TransportPolicy
from agent_core.model.capabilities import ModelBook
from agent_core.model.settings import ModelSettings
from agent_core.runtime.embedded import Embedded
from agent_core.runtime.endpoint import Endpoint

OPENAI_HOST = "api.openai.com"
AZURE_HOSTS = (".openai.azure.com", ".services.ai.azure.com")


def model_settings(endpoint: Endpoint, service: Embedded | None, settings: Settings, session: str) -> ModelSettings:
    """`service` is the embedded one, None where the endpoint names another."""
    if service is not None:
        reached = ModelSettings(base_url=service.base_url, api_key=service.api_key, own_service=True)
    else:
        reached = ModelSettings(base_url=endpoint.base_url or "", api_key=endpoint.api_key)
    return msgspec.structs.replace(reached, transport=transport_of(settings, session))


def transport_of(settings: Settings, session: str) -> TransportPolicy:
    """The policy of this session. Below a share of 1 some sessions use HTTP, for ramping and comparing; which ones is
    drawn from the session's id, so that a session which is resumed stays on its side."""
    if settings.transport == "auto" and draw(session) >= settings.websocket_share:
        return "http"
    return settings.transport


def draw(session: str) -> float:
    """A number from 0 to 1 (never 1 itself), evenly spread over ids."""
    return int.from_bytes(blake2b(session.encode(), digest_size=4).digest(), "big") / 2**32


def create_options(endpoint: Endpoint, settings: Settings, session: str) -> Mapping[str, Any]:
    """Fields of every create besides the usual ones: what api.openai.com knows and not every service does."""
    if endpoint.base_url is None or urlsplit(endpoint.base_url).hostname != OPENAI_HOST:
        options: dict[str, Any] = {}
    else:
        options = {"prompt_cache_key": session}
    if compacts_in_band(endpoint, settings):
        options["context_management"] = [{"type": "compaction", "compact_threshold": settings.compact_at}]
    return options


def model_book(endpoint: Endpoint, settings: Settings) -> ModelBook:
    """What models can do, as far as it is known of this service. Raises ConfigError for a table that can't be read."""
    return ModelBook(settings.models, free_form=takes_free_form(endpoint))


def takes_free_form(endpoint: Endpoint) -> bool:
    """Whether the service is known to take tools whose input is no JSON (OpenAI guide "Function calling", custom
    tools)."""
    host = (urlsplit(endpoint.base_url or "").hostname or "").lower()
    return host == OPENAI_HOST or host.endswith(AZURE_HOSTS)


def compacts_in_band(endpoint: Endpoint, settings: Settings) -> bool:
    """Whether the service is asked to compact inside its replies (OpenAI guide "Compaction")."""
    if not settings.compact_at or settings.compact_by == "local":
        return False
    known = endpoint.base_url is not None and urlsplit(endpoint.base_url).hostname == OPENAI_HOST
    return known or settings.compact_by == "service"


def shown(settings: ModelSettings) -> str:
    """The address for people: the scheme that is spoken, no credentials, no query."""
    scheme, _, rest = settings.base_url.partition("://")
    address = rest.split("/", 1)[0].rsplit("@", 1)[-1]
    spoken = "http" if settings.transport == "http" else "ws"
    return f"{spoken}{'s' if scheme in ('https', 'wss') else ''}://{address}"
