"""Plain HTTP replies in ASGI messages, for requests and for upgrades that are refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

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
