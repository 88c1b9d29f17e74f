"""The options of one `upstream` engine: its spec from the command line, and its table `[engines.NAME]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

import msgspec
from msgspec import Meta

from agent_core.errors import ConfigError
from agent_core.responses_server.engines.upstream.profile import OPENAI, Profile

Api = Literal["auto", "responses", "websocket", "chat"]


class UpstreamSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`url` ends in /v1 and has no slash behind it. `key`: bearer key, None for servers that want none.

    `api`: `auto` asks the server once whether it has the Responses API, and takes Chat Completions otherwise; a URL
    with ws:// or wss:// means `websocket`. `silence_s`: how long an answer may be silent. `cache_key`: whether
    `prompt_cache_key` is sent; some servers refuse what they don't know. `custom_tools`: whether the server knows
    free-form tools; None: OpenAI's does, over the Responses API. `extra`: fields that each request's body gets where
    it has none of that name, for what only this server knows. `headers` and `extra` may hold secrets.
    `profile`: what Chat Completions messages the server takes; None: as most do, and what its refusals teach.
    """

    url: str
    model: str
    key: str | None = None
    api: Api = "auto"
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    connect_timeout_s: Annotated[float, Meta(gt=0)] = 10.0
    silence_s: Annotated[float, Meta(gt=0)] = 300.0
    cache_key: bool = True
    custom_tools: bool | None = None
    extra: Mapping[str, Any] = msgspec.field(default_factory=dict)
    profile: Profile | None = None

    def __repr__(self) -> str:
        return f"UpstreamSettings({self.place!r}, {self.model!r})"

    @property
    def place(self) -> str:
        """The server, as it may be told to people."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))

    @property
    def knows_custom_tools(self) -> bool:
        return self.is_openai and self.api != "chat" if self.custom_tools is None else self.custom_tools

    @property
    def first_profile(self) -> Profile:
        return self.profile or (OPENAI if self.is_openai else Profile())

    @property
    def is_openai(self) -> bool:
        host = urlsplit(self.url).hostname or ""
        return host == "openai.com" or host.endswith((".openai.com", ".openai.azure.com"))

    @property
    def all_headers(self) -> dict[str, str]:
        bearer = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return {**bearer, **self.headers}

    def address(self, path: str) -> str:
        """URL of an endpoint below /v1; the base URL's query is kept."""
        parts = urlsplit(self.url)
        scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
        return urlunsplit((scheme, parts.netloc, parts.path + path, parts.query, ""))


def read_settings(name: str, spec: str, options: Mapping[str, Any]) -> UpstreamSettings:
    """`spec`: `URL#MODEL`. Raises ConfigError for a spec or options that can't be."""
    where = f"engines.{name}"
    url, _, model = spec.rpartition("#")
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https", "ws", "wss") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or not model:
        raise ConfigError(where, "", "upstream:URL#MODEL with a URL like https://api.openai.com/v1")
    if parts.username is not None or parts.password is not None:
        raise ConfigError(where, "", "a URL without user or password; the key has its own place")
    given = dict(options)
    if parts.scheme in ("ws", "wss"):
        given.setdefault("api", "websocket")
    url = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), parts.query, ""))
    try:
        return msgspec.convert({**given, "url": url, "model": model}, UpstreamSettings, strict=False)
    except msgspec.ValidationError as error:
        fields = ", ".join(field for field in UpstreamSettings.__struct_fields__ if field not in ("url", "model"))
        raise ConfigError(where, "", f"options among {fields}", got=str(error)) from None
