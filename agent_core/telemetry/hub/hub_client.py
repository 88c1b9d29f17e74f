"""One request to a team hub's ingest, and what its answer means. Decides nothing about repeating.

`POST <hub>/api/ingest`, NDJSON, gzip, bearer token; the answer is `{"acked": seq}`. Redirects are not followed:
they would carry the token to another place.
"""

from __future__ import annotations

import gzip
import importlib
from collections.abc import Sequence
from enum import Enum
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import msgspec

from agent_core.clock import utc_now
from agent_core.pauses import pause_s
from agent_core.telemetry.events import SCHEMA_VERSION

TIMEOUT_S = 10.0
AFTER_HEADER = "loopline-after"
"""With a batch: the last sequence of its source that was acknowledged; what lies between was not to leave."""
_MAX_ANSWER = 64 * 1024


class Outcome(Enum):
    """What became of a batch."""

    ACKED = "acked"
    """The hub has everything up to `acked`."""
    LATER = "later"
    """Not now: no answer, an overloaded hub, or something that is no hub. The same batch may do later."""
    KEY_REFUSED = "key_refused"
    TOO_LARGE = "too_large"
    REFUSED = "refused"
    """The hub read the batch and does not want something in it."""


class Answer(msgspec.Struct, frozen=True):
    """`acked` is the hub's last sequence of the batch's source, None unless the outcome is ACKED. `late`: how many
    events of the batch the hub has not kept, since they came behind later ones. `detail` is for people."""

    outcome: Outcome
    acked: int | None = None
    late: int = 0
    retry_after_s: float | None = None
    detail: str = ""


class _Acked(msgspec.Struct):
    acked: int
    late: int = 0


class _Refused(msgspec.Struct):
    class Error(msgspec.Struct):
        code: str = ""

    error: Error = msgspec.field(default_factory=Error)


class HubClient:
    """Keeps one connection. Use from one thread; `close` it."""

    def __init__(self, hub_url: str, token: str) -> None:
        self._url = f"{hub_url.rstrip('/')}/api/ingest"
        self._token = token
        self._client: Any = None

    def push(self, lines: Sequence[bytes], after: int = 0) -> Answer:
        """Send events of a source, one JSON object each. `after`: the last that was acknowledged of it.

        Never raises for what the network or the hub does; takes a few times `TIMEOUT_S` at most.
        """
        body = gzip.compress(b"".join(line + b"\n" for line in lines), compresslevel=5, mtime=0)
        headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip", AFTER_HEADER: str(after)}
        return self._exchange("POST", body, headers)

    def probe(self) -> Answer:
        """Ask whether the hub is there and takes the token: ACKED if so. As bounded as `push`; never raises."""
        return self._exchange("GET", None, {})

    def _exchange(self, method: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        httpx = importlib.import_module("httpx")  # here, because most processes never ship and its import is slow
        if self._client is None:
            self._client = httpx.Client(timeout=TIMEOUT_S, follow_redirects=False)
        headers |= {"Authorization": f"Bearer {self._token}", "Loopline-Schema": str(SCHEMA_VERSION)}
        try:
            with self._client.stream(method, self._url, content=body, headers=headers) as response:
                data = b""
                for chunk in response.iter_bytes():
                    data += chunk
                    if len(data) > _MAX_ANSWER:
                        break
                headers = {name.lower(): value for name, value in response.headers.items()}
                pause = pause_s(headers, utc_now(), status=response.status_code)
                return _answer(response.status_code, pause, data)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return Answer(Outcome.LATER, detail=f"{type(error).__name__}: {error}")

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def _code(data: bytes) -> str:
    """The error code of a refusal, "" if it has none that is a word."""
    try:
        code = msgspec.json.decode(data, type=_Refused).error.code
    except msgspec.DecodeError:
        return ""
    return code if code.isascii() and code.replace("_", "").isalnum() and len(code) <= 64 else ""


def shown_url(hub_url: str) -> str:
    """The hub's address for people and logs, without credentials."""
    parts = urlsplit(hub_url)
    return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"


def is_exposed(hub_url: str) -> bool:
    """Whether the token would cross a network unencrypted."""
    parts = urlsplit(hub_url)
    if parts.scheme == "https" or parts.hostname in (None, "localhost"):
        return False
    try:
        return not ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return True


def _answer(status: int, pause: float | None, data: bytes) -> Answer:
    if status == 200:
        try:
            told = msgspec.json.decode(data, type=_Acked)
            return Answer(Outcome.ACKED, told.acked, late=told.late)
        except msgspec.DecodeError:
            return Answer(Outcome.LATER, detail="the answer is not that of a hub")
    if status in (401, 403):
        return Answer(Outcome.KEY_REFUSED, detail=f"HTTP {status}")
    if status == 413:
        return Answer(Outcome.TOO_LARGE, detail="HTTP 413")
    code = _code(data)
    if status in (400, 422) or (status == 409 and code == "sequence_jump"):
        return Answer(Outcome.REFUSED, detail=f"HTTP {status}{f' {code}' if code else ''}")
    return Answer(Outcome.LATER, retry_after_s=pause, detail=f"HTTP {status}")
