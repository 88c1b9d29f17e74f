"""Plain HTTP: whole bodies in, JSON replies out, for requests and for upgrades that are refused."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agent_core.errors import ConnectionLost, LooplineError, WireError
from agent_core.responses_server.settings import MAX_BODY_BYTES
from agent_core.responses_server.shells.refusals import refusal
from agent_core.wire.codec import encode

Headers = Iterable[tuple[bytes, bytes]]


def error_body(code: str, message: str, *, kind: str = "invalid_request_error", param: str | None = None) -> bytes:
    """The JSON body of an HTTP error: `{"error": {type, code, message, param}}`."""
    error: dict[str, Any] = {"type": kind, "code": code, "message": message, "param": param}
    return msgspec.json.encode({"error": error})


async def send_reply(
    scope: Scope, receive: Receive, send: Send, status: int, body: bytes, headers: Headers = ()
) -> None:
    """Answer with a JSON body. On an upgrade this is the refusal: an HTTP response in place of 101."""
    all_headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *headers,
    ]
    prefix = "websocket.http.response" if scope["type"] == "websocket" else "http.response"
    if scope["type"] == "websocket":
        await receive()  # websocket.connect: an answer may only follow it
    await send({"type": f"{prefix}.start", "status": int(status), "headers": all_headers})
    await send({"type": f"{prefix}.body", "body": body})


def as_json(value: object, status: int = 200) -> Response:
    return Response(value if isinstance(value, bytes) else encode(value), status, media_type="application/json")


def told(error: LooplineError) -> Response:
    """The error as an HTTP answer, with the status of its code."""
    event = refusal(None, error, None)
    answer = as_json({"error": event.error}, event.status or 500)
    for name, value in (event.error.headers or {}).items():
        answer.headers[name] = value
    return answer


async def read_body(receive: Receive) -> bytes:
    """The whole body, which is UTF-8. Raises WireError if it isn't or above the limit, ConnectionLost if the client
    leaves.

    The encoding is looked at piece by piece as it comes, since all at once would hold up others.
    """
    chunks: list[bytes] = []
    utf8, is_utf8 = codecs.getincrementaldecoder("utf-8")(), True
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionLost("the client has left")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise WireError(f"The body is above {MAX_BODY_BYTES} bytes.", code="message_too_large")
        chunks.append(chunk)
        is_last = not message.get("more_body", False)
        try:
            if is_utf8:
                utf8.decode(chunk, is_last)
        except UnicodeDecodeError:
            is_utf8 = False  # told once all has come, so that the client reads the answer
        if is_last:
            if not is_utf8:
                raise WireError("The body is not UTF-8.", code="invalid_json")
            return b"".join(chunks)


def owner_of(scope: Scope) -> str:
    """Name of the API key that a request or an upgrade came with."""
    return str(scope.get("state", {}).get("api_key_name", ""))
