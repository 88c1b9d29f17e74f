"""Where the Responses service is: the socket's and the POST's URL, both from one base URL, and how to say it is not
there.

`http(s)` and `ws(s)` stand for each other, `/responses` is appended to the path, the query is kept. Source: OpenAI
guide "WebSocket mode"; openai-python `_prepare_url`.
"""

from __future__ import annotations

import ssl
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit, urlunsplit

from agent_core.errors import ConfigError, ServiceUnreachable

_PLAIN = {"http": "http", "ws": "http", "https": "https", "wss": "https"}
_SOCKET = {"http": "ws", "https": "wss"}


def http_url(base_url: str) -> str:
    """The URL to POST to. Raises ConfigError where `base_url` is not an absolute http(s) or ws(s) URL."""
    return urlunsplit(_endpoint(base_url))


def compact_url(base_url: str) -> str:
    """The URL of the standalone compaction (OpenAI API reference, "Compact a response")."""
    endpoint = _endpoint(base_url)
    return urlunsplit(endpoint._replace(path=endpoint.path + "/compact"))


def models_url(base_url: str) -> str:
    """The URL that lists the service's models."""
    endpoint = _endpoint(base_url)
    return urlunsplit(endpoint._replace(path=endpoint.path.removesuffix("/responses") + "/models"))


def websocket_url(base_url: str) -> str:
    """The URL of the upgrade. Raises ConfigError as `http_url` does."""
    endpoint = _endpoint(base_url)
    return urlunsplit(endpoint._replace(scheme=_SOCKET[endpoint.scheme]))


def is_loopback(base_url: str) -> bool:
    """Whether the service runs on this machine, so that no proxy may come between."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def unreachable(url: str, failure: OSError) -> ServiceUnreachable:
    """`failure` of reaching `url`, in words that name the address without its query."""
    hint = "check that the service runs there, and base_url"
    if isinstance(failure, ssl.SSLCertVerificationError):
        hint = "the certificate is not trusted here; set SSL_CERT_FILE to the authority that signed it"
    reason = failure.strerror or type(failure).__name__
    return ServiceUnreachable(f"nothing answers at {url.partition('?')[0]}: {reason}", hint=hint)


def _endpoint(base_url: str) -> SplitResult:
    expected = "an absolute URL like https://api.openai.com/v1"
    try:
        parts = urlsplit(base_url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        raise ConfigError("the service's address", "base_url", expected) from None
    scheme = _PLAIN.get(parts.scheme)
    if scheme is None or not parts.hostname or not port_is_fine:
        raise ConfigError("the service's address", "base_url", expected)
    if parts.username is not None or parts.password is not None:
        raise ConfigError("the service's address", "base_url", "a URL without user or password")
    return parts._replace(scheme=scheme, path=parts.path.rstrip("/") + "/responses", fragment="")
