"""Who may talk to this address, decided from headers alone. Pure.

Browsers send cookies by themselves, so a request with one must prove that it comes from a page of ours: by its Origin,
else by what the browser says of the fetch, else by its Referer. A bearer token is put there on purpose and proves
itself. The Host is checked always, which keeps pages out that point their own name at this machine (DNS rebinding).
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from agent_core.errors import ConfigError

Kind = Literal["page", "api", "form", "sign-in", "ingest"]
"""page: a document. api: data for our pages and for tools. form: a change by a page. sign-in: the credential is in the
body. ingest: machines only."""
Credential = Literal["bearer", "cookie", "none"]

SAFE_METHODS = frozenset({"GET", "HEAD"})
_DEFAULT_PORTS = {"http": 80, "https": 443}
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


class Site(msgspec.Struct, frozen=True):
    """The addresses under which we are reached."""

    url: str
    """What people open, without a path."""
    hosts: frozenset[str]
    """Host headers, with the port unless it is the scheme's default."""
    origins: frozenset[str]
    loopback: bool
    """Listens on a loopback address only."""

    @property
    def secure(self) -> bool:
        return self.url.startswith("https://")

    @property
    def cookie(self) -> str:
        """Name of the session cookie. Cookies ignore ports: over plain HTTP the port is in the name, so that two local
        tools do not sign each other out."""
        port = urlsplit(self.url).port or _DEFAULT_PORTS[urlsplit(self.url).scheme]
        return "__Host-loopline" if self.secure else f"loopline_{port}"


def site_of(host: str, port: int, public_url: str | None) -> Site:
    """The site of a listener on `host`:`port` that people reach as `public_url` (None: by its own address).

    Raises ConfigError for a public URL that is more than scheme, host and port.
    """
    loopback = is_loopback(host)
    names = [_bracketed(host)] if host not in ("", "0.0.0.0", "::") else []
    names += [name for name in _LOOPBACK_NAMES if name not in names and (loopback or not names)]
    own = [_origin("http", name, port) for name in names]
    origins = set(own)
    url = own[0]
    if public_url is not None:
        url = _checked(public_url)
        origins.add(url)
    hosts = {origin.partition("://")[2] for origin in origins}
    return Site(url, frozenset(hosts), frozenset(origins), loopback)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_problem(site: Site, host: str | None) -> str:
    """Why a Host header is refused, "" if it is ours. None: it is missing, or sent twice."""
    if host is not None and _plain(host, site) in site.hosts:
        return ""
    return "This address is not served here. Open it as it was started, or start it with --public-url."


def origin_problem(site: Site, method: str, kind: Kind, credential: Credential, headers: Mapping[str, str]) -> str:
    """Why a request is refused for where it comes from, "" if it is not. `headers` have lower-case names."""
    origin = headers.get("origin")
    if kind == "ingest":
        return "Ingest takes no requests of web pages." if origin is not None or "cookie" in headers else ""
    if credential == "bearer":
        return ""
    if origin is not None and origin not in site.origins:
        return "This request comes from another site."
    fetch_site = headers.get("sec-fetch-site")
    if fetch_site not in (None, "same-origin", "none"):
        navigates = method in SAFE_METHODS and kind == "page" and headers.get("sec-fetch-mode") == "navigate"
        if not navigates:
            return "This request comes from another site."
    if method not in SAFE_METHODS:
        if origin is None and credential == "cookie":
            return "A change must say where it comes from (Origin)."
        return ""
    if kind == "api" and credential == "cookie" and origin is None and fetch_site is None:
        return (
            ""
            if _origin_of(headers.get("referer", "")) in site.origins
            else "This request does not say where it is from."
        )
    return ""


def _plain(host: str, site: Site) -> str:
    """A Host header in lower case and without its scheme's default port."""
    host = host.strip().lower()
    default = f":{_DEFAULT_PORTS[urlsplit(site.url).scheme]}"
    return host.removesuffix(default) if host not in site.hosts else host


def _origin(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://{host}" if port == _DEFAULT_PORTS[scheme] else f"{scheme}://{host}:{port}"


def _origin_of(url: str) -> str:
    try:
        parts = urlsplit(url)
        return _origin(parts.scheme, _bracketed(parts.hostname or ""), parts.port or _DEFAULT_PORTS[parts.scheme])
    except (ValueError, KeyError):
        return ""


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _checked(public_url: str) -> str:
    origin = _origin_of(public_url.strip())
    parts = urlsplit(public_url.strip())
    extra = parts.path not in ("", "/") or parts.query or parts.fragment or parts.username or parts.password
    if not origin or not parts.hostname or extra:
        raise ConfigError("--public-url", "", "http(s)://HOST[:PORT] without a path", got=repr(public_url[:80]))
    return origin
