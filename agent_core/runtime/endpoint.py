"""Which service and model a session talks to: decided from settings and keys alone.

Neither a base URL nor `OPENAI_API_KEY`: the embedded service with the model `repair`. The key of any URL is
`OPENAI_API_KEY`, else the kept one if it was set for that URL's origin. A URL without a model: the only one that the
service lists.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agent_core.config.settings import Settings
from agent_core.errors import ConfigError
from agent_core.keys import Keys
from agent_core.providers import provider_of
from agent_core.runtime.models import list_models
from agent_core.transport.urls import is_loopback

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODEL = "gpt-5.5"
EMBEDDED_MODEL = "repair"
EMBEDDED_URL = ""
"""As `base_url` of a session that is resumed: the embedded service, whatever keys there are now."""
REPAIR_NOTE = "a search over program edits, no model"
MAX_LISTED = 20


class Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """A provider that the embedded service asks. `url` ends in /v1; `api_key` goes there and nowhere else."""

    url: str
    api_key: str | None = None

    def __repr__(self) -> str:
        return f"Upstream(url={self.url.partition('?')[0]!r})"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """`base_url` None: start the embedded service. `model` "": ask the service. `api_key` None: send none. `note` says
    where there is no model."""

    base_url: str | None
    model: str
    api_key: str | None = None
    note: str = ""
    provider: str = ""
    """Its name, where one was named."""
    upstream: Upstream | None = None
    """Whom the embedded service asks; None: its own engines answer."""
    defaulted: str = ""
    """Whose default the model is, where the user named none."""

    @property
    def listed_at(self) -> tuple[str, str | None] | None:
        """Address and key of whoever lists its models; None: the embedded service."""
        if self.upstream is not None:
            return self.upstream.url, self.upstream.api_key
        return None if self.base_url is None else (self.base_url, self.api_key)


def choose(settings: Settings, env: Mapping[str, str]) -> Endpoint:
    """The endpoint as far as settings and keys tell it; `completed` finds out the rest. Raises ConfigError for a
    provider that nobody knows, or whose address or key is missing."""
    if settings.provider is not None:
        return _of_provider(settings.provider, settings, env)
    key = Keys(env).get("openai", settings.base_url or OPENAI_URL)
    if settings.base_url == EMBEDDED_URL or (settings.base_url is None and key is None):
        model = settings.model or EMBEDDED_MODEL
        return Endpoint(base_url=None, model=model, note=_note(model))
    if settings.base_url is None:
        defaulted = "" if settings.model else "openai"
        return Endpoint(base_url=OPENAI_URL, model=settings.model or OPENAI_MODEL, api_key=key, defaulted=defaulted)
    model = settings.model or ""
    return Endpoint(base_url=settings.base_url, model=model, api_key=key, note=_note(model))


def _of_provider(name: str, settings: Settings, env: Mapping[str, str]) -> Endpoint:
    provider = provider_of(name, settings.providers)
    url = provider.base_url  # never another address of the settings: the key is this provider's
    if not url:
        raise ConfigError("settings", f"providers.{name}.base_url", "the address of your resource, ending in /v1")
    key = Keys(env).get(name, url, variable=provider.key_env or None)
    if key is None and provider.key_env and not is_loopback(url):
        hint = f"`loopline auth set {name}` keeps one, or set {provider.key_env}"
        raise ConfigError("settings", "provider", f"a key of {name}", got="none", hint=hint)
    model = settings.model or provider.model
    defaulted = name if not settings.model and provider.model else ""
    if provider.wire == "responses":
        return Endpoint(base_url=url, model=model, api_key=key, provider=name, defaulted=defaulted)
    return Endpoint(
        base_url=None, model=model, provider=name, upstream=Upstream(url=url, api_key=key), defaulted=defaulted
    )


async def completed(endpoint: Endpoint, *, before: str = "") -> Endpoint:
    """The endpoint with a model: the only one that the service lists, or the one of `before`, which the session used
    so far, if it is among several. Raises ConfigError where the service has several, or none; ServiceUnreachable or
    AuthError where it does not list them."""
    listed_at = endpoint.listed_at
    if endpoint.model or listed_at is None:
        return endpoint
    found = [entry.id for entry in await list_models(*listed_at)]
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
