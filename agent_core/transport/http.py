"""The HTTP shell: one POST, its answer as the same events that a WebSocket carries.

Owns the pool of kept-alive connections. httpx is imported with the first POST, since a session over WebSocket never
needs it. It decides nothing; an HTTP status that is no success becomes the exception of its error body.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.request import getproxies

from agent_core.clock import utc_now
from agent_core.errors import AuthError, ConnectionLost, ProtocolError, ServiceError, ServiceUnreachable, WireError
from agent_core.transport.urls import is_loopback, unreachable
from agent_core.wire.errors import read_error_body, to_exception
from agent_core.wire.sse import SseDecoder

if TYPE_CHECKING:
    import httpx

MAX_ERROR_BODY_BYTES: Final = 64 * 1024
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
KEEPALIVE_S: Final = 120.0
"""How long an idle connection is kept for the next POST."""

END_S: Final = 0.05
"""How long the end of a body may take after the response's last event; normally it came with it."""

_LIVENESS: Final = {"TCP_KEEPIDLE": 20, "TCP_KEEPINTVL": 20, "TCP_KEEPCNT": 3}
"""Seconds of silence until TCP probes a peer, between probes, and how many may go unanswered: HTTP has no pings."""


class Observer(Protocol):
    """Is told what becomes of a POST on its way. Must return at once and never raise."""

    def connecting(self) -> None:
        """No kept-alive connection can serve it: a new one is being made."""

    def connected(self) -> None:
        """The new connection stands, TLS included."""

    def leaving(self) -> None:
        """The request's first byte leaves now."""

    def left(self) -> None:
        """The request left, all of it or what the connection took."""


class HttpStream:
    """The answer to one POST. One consumer may `receive`."""

    def __init__(self, response: httpx.Response, chunks: AsyncIterator[bytes]) -> None:
        self._response, self._chunks = response, chunks
        self._decoder = SseDecoder()
        self._whole = bytearray() if _is_json(response) else None
        """A body that is one JSON value instead of a stream."""
        self.ended = False
        """The server ended the body, as it should."""

    @property
    def done(self) -> bool:
        """Whether `[DONE]` came."""
        return self._decoder.done

    async def receive(self, silence_s: float | None = None) -> list[bytes]:
        """The events of the next piece that holds any, encoded; waits for it. Empty where that holds `[DONE]` alone.

        Raises ConnectionLost at the end of the stream, when the connection breaks, or after `silence_s` seconds
        without a byte (None: no limit); ProtocolError for what is no event stream.
        """
        import httpx

        while True:
            try:
                async with asyncio.timeout(silence_s):
                    chunk = await anext(self._chunks, None)
            except TimeoutError:
                raise ConnectionLost(f"the service sent nothing for {silence_s:g} s") from None
            except httpx.HTTPError as failure:
                raise ConnectionLost(f"the answer broke off ({type(failure).__name__})") from None
            if self._whole is not None and chunk is not None:
                self._whole += chunk
                if len(self._whole) > MAX_ANSWER_BYTES:
                    raise ProtocolError(f"the service answered with more than {MAX_ANSWER_BYTES} bytes")
                continue
            if chunk is None and not self.ended:
                self.ended = True
                last = self._decoder.last() if self._whole is None else bytes(self._whole)
                if last or self.done:
                    return [last] if last else []
            if chunk is None:
                raise ConnectionLost("the answer ended before the response did")
            was_done = self.done
            try:
                messages = self._decoder.feed(chunk)
            except WireError as failure:
                raise ProtocolError(f"the answer is no event stream: {failure.message}") from None
            if messages or self.done is not was_done:
                return [message.data for message in messages]

    async def finish(self) -> None:
        """The response is over: read the body's end, so that its connection can serve the next POST, and close."""
        with contextlib.suppress(TimeoutError, ConnectionLost, ProtocolError):
            async with asyncio.timeout(END_S):
                while True:
                    await self.receive()
        await self.close()

    async def close(self) -> None:
        """End the answer; a response that still runs is cancelled by that."""
        await self._response.aclose()


def _is_json(response: httpx.Response) -> bool:
    return bool(response.headers.get("content-type", "").startswith("application/json"))


class _Trace:
    """Reads httpx's trace of one POST (httpcore's `trace` extension). A proxy's CONNECT is part of connecting."""

    def __init__(self, observer: Observer, *, secure: bool) -> None:
        self._observer = observer
        self._last_step = "start_tls.complete" if secure else "connect_tcp.complete"
        self._connecting = self._tunnelling = False

    async def __call__(self, name: str, info: Mapping[str, Any]) -> None:
        if name == "connection.connect_tcp.started":
            self._connecting = True
            self._observer.connecting()
        elif self._connecting and name.endswith(self._last_step):
            self._connecting = False
            self._observer.connected()
        elif name == "http11.send_request_headers.started":
            self._tunnelling = info["request"].method == b"CONNECT"
            if not self._tunnelling:
                self._observer.leaving()
        elif name in ("http11.send_request_body.complete", "http11.send_request_body.failed") and not self._tunnelling:
            self._observer.left()


class Http:
    """POSTs to one URL. Close it when the session ends."""

    def __init__(self, url: str, headers: Mapping[str, str], *, open_timeout_s: float = 15.0) -> None:
        self._url, self._headers, self._open_timeout_s = url, dict(headers), open_timeout_s
        self._client: httpx.AsyncClient | None = None

    async def post(
        self, body: bytes, observer: Observer, silence_s: float | None = None, *, any_type: bool = False
    ) -> HttpStream:
        """Send a create and wait for the head of the answer, at most `silence_s` seconds (None: no limit).

        `any_type`: servers give event streams the type of text, or none, or answer with one JSON value; all but a page
        for people is taken.

        Raises ServiceUnreachable, ConnectionLost, AuthError, ServiceError (from the error body) or ProtocolError (a
        success that is no event stream).
        """
        response = await self._send("POST", self._url, body, observer, silence_s)
        kind = response.headers.get("content-type", "")
        if not kind.startswith("text/event-stream") and (not any_type or kind.startswith("text/html")):
            await response.aclose()
            raise ProtocolError(f"the service answered with {kind or 'no content type'} instead of an event stream")
        return HttpStream(response, response.aiter_raw())

    async def ask(self, method: str, url: str, body: bytes | None, observer: Observer, limit_s: float) -> bytes:
        """One question with a short answer, its body; at most `limit_s` seconds. Raises as `post` does, and
        ProtocolError for an answer above `MAX_ANSWER_BYTES`."""
        import httpx

        try:
            async with asyncio.timeout(limit_s):
                response = await self._send(method, url, body, observer, None)
                try:
                    answer = bytearray()
                    async for chunk in response.aiter_bytes():
                        answer += chunk
                        if len(answer) > MAX_ANSWER_BYTES:
                            raise ProtocolError(f"the service answered with more than {MAX_ANSWER_BYTES} bytes")
                    return bytes(answer)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise ConnectionLost(f"the service took longer than {limit_s:g} s to answer") from None
        except httpx.HTTPError as failure:
            raise ConnectionLost(f"the answer broke off ({type(failure).__name__})") from None

    async def _send(
        self, method: str, url: str, body: bytes | None, observer: Observer, silence_s: float | None
    ) -> httpx.Response:
        """Send and wait for the head of a success; `url` is of the same service as the pool's own."""
        import httpx

        client = self._client = self._client or self._new_client()
        trace = _Trace(observer, secure=url.startswith("https:"))
        request = client.build_request(method, url, content=body, extensions={"trace": trace})
        try:
            async with asyncio.timeout(silence_s):
                response = await client.send(request, stream=True)
        except TimeoutError:
            raise ConnectionLost(f"the service sent nothing for {silence_s:g} s") from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as failure:
            raise self._unreachable(failure) from None
        except httpx.HTTPError as failure:
            raise ConnectionLost(f"the request broke off ({type(failure).__name__})") from None
        if response.status_code != 200:
            raise await self._refused(response)
        return response

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _new_client(self) -> httpx.AsyncClient:
        import httpx

        for noisy in ("httpx", "httpcore"):
            # They log URLs and headers of every request, below WARNING.
            logging.getLogger(noisy).setLevel(logging.WARNING)
        options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
        options += [(socket.IPPROTO_TCP, getattr(socket, o), v) for o, v in _LIVENESS.items() if hasattr(socket, o)]
        limits = httpx.Limits(keepalive_expiry=KEEPALIVE_S)
        direct = is_loopback(self._url) or not getproxies()
        return httpx.AsyncClient(
            headers=self._headers
            | {"Content-Type": "application/json", "Accept": "text/event-stream", "Accept-Encoding": "identity"},
            timeout=httpx.Timeout(None, connect=self._open_timeout_s, write=60.0),
            limits=limits,
            # A transport of our own can set socket options, but knows no proxy.
            transport=httpx.AsyncHTTPTransport(limits=limits, socket_options=options) if direct else None,
        )

    def _unreachable(self, failure: Exception) -> ServiceUnreachable:
        cause: BaseException | None = failure
        while cause is not None and not isinstance(cause, OSError):
            cause = cause.__cause__ or cause.__context__
        return unreachable(self._url, cause if isinstance(cause, OSError) else TimeoutError())

    async def _refused(self, response: httpx.Response) -> AuthError | ServiceError:
        import httpx

        body = b""
        try:
            async with asyncio.timeout(self._open_timeout_s):
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_ERROR_BODY_BYTES:
                        break
        except (TimeoutError, httpx.HTTPError):
            pass  # the status alone says enough
        finally:
            await response.aclose()
        status = response.status_code
        event = read_error_body(body, status)
        headers = {name.lower(): value for name, value in response.headers.items()}
        event.error.headers = headers | (event.error.headers or {})
        if status in (401, 403):
            return AuthError(f"the service refused the key (HTTP {status})", hint="check OPENAI_API_KEY")
        if not event.error.code and not event.error.type:
            event.error.code = f"http_{status}"
        if not event.error.message:
            event.error.message = f"the service answered with HTTP {status}"
        error = to_exception(event, utc_now())
        if status == 404:
            error.hint = "check base_url and the model's name"
        return error
