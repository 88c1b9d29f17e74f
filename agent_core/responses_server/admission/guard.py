"""Who may talk to the service: the Host check and the bearer check.

The Host check keeps web pages out that point their own name at a loopback address (DNS rebinding). Keys are compared in
constant time and never logged.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256

from agent_core.rates import Failures
from agent_core.responses_server.settings import ApiKey


class Guard:
    """The decisions. `hosts`: names that may stand in the Host header."""

    def __init__(self, keys: Sequence[ApiKey], hosts: Iterable[str]) -> None:
        self._digests = [
            (key.name, bytes.fromhex(key.sha256) if key.sha256 else sha256(key.key.encode()).digest()) for key in keys
        ]
        self._failures = Failures()
        self.refused: Counter[str] = Counter({"host": 0, "key": 0, "rate": 0})
        """How many requests and upgrades were refused, by reason."""
        self._hosts = frozenset(_host_name(host) for host in hosts)

    def host_allowed(self, header: str | None) -> bool:
        """Whether a Host header (`name`, `name:port`, `[v6]:port`) names us; None (no header) does not."""
        return header is not None and _host_name(header) in self._hosts

    def key_name(self, header: str | None) -> str | None:
        """Name of the key in an Authorization header, None if it holds none of ours. Compares with every key."""
        scheme, _, token = (header or "").partition(" ")
        given = sha256(token.strip().encode()).digest()
        found = None
        for name, digest in self._digests:
            if hmac.compare_digest(given, digest):
                found = name
        return found if scheme.lower() == "bearer" else None

    def failed(self, peer: str, now_ns: int) -> float:
        """Count a request without a right key. The seconds that its peer has to wait, 0.0 if it may go on."""
        wait_s = self._failures.take(peer, now_ns)
        self.refused["rate" if wait_s else "key"] += 1
        return wait_s


def _host_name(value: str) -> str:
    value = value.strip().lower()
    if value.startswith("["):
        return value[1:].partition("]")[0]
    name, separator, port = value.rpartition(":")
    return (name if separator and ":" not in name and port.isdigit() else value).rstrip(".")
