"""The one module on `agent-client-protocol`, the SDK of the Agent Client Protocol: its connection and its models.

Mended here, as of 0.12.1: a line that is no JSON is answered (the SDK drops it); a message of a shape that would end
its reader is refused before it gets there; no body of a message is ever logged; and methods that the protocol calls
stable work without the SDK's switch for unstable ones, because the table of methods is ours. What we send is made as
plain JSON, as it streams; the tests hold it against the SDK's models.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from acp import schema
from acp.connection import Connection
from acp.exceptions import RequestError
from pydantic import BaseModel, ValidationError

from lsp_server.acp.lines import Fault, Json, LineReader

__all__ = ["MODELS", "ClientLost", "Model", "Peer", "RequestError", "parse", "schema"]

log = logging.getLogger(__name__)

MAX_UNREAD_BYTES = 64 << 20
"""Of a client that reads no more; then it counts as gone."""
MAX_PROBLEMS = 5

Model = BaseModel
ModelT = TypeVar("ModelT", bound=BaseModel)
Handle = Callable[[str, Any, bool], Awaitable[Json]]
"""Method, parameters, and whether nobody waits for an answer. Raises RequestError alone."""

MODELS: Mapping[str, type[BaseModel]] = {
    "authenticate": schema.AuthenticateRequest,
    "session/new": schema.NewSessionRequest,
    "session/load": schema.LoadSessionRequest,
    "session/resume": schema.ResumeSessionRequest,
    "session/fork": schema.ForkSessionRequest,
    "session/list": schema.ListSessionsRequest,
    "session/close": schema.CloseSessionRequest,
    "session/set_mode": schema.SetSessionModeRequest,
    "session/set_config_option": schema.SetSessionConfigOptionSelectRequest,
    "session/prompt": schema.PromptRequest,
    "session/cancel": schema.CancelNotification,
}


class ClientLost(Exception):
    """The client is gone, or reads no more."""


def parse(model: type[ModelT], params: Any) -> ModelT:
    """Parameters, or an answer of the client. Raises RequestError (-32602), which says where and never repeats what."""
    try:
        return model.model_validate(params if params is not None else {})
    except ValidationError as error:
        found = error.errors(include_input=False, include_context=False, include_url=False)
        places = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found[:MAX_PROBLEMS]]
        raise RequestError.invalid_params({"problems": places}) from None


class Peer:
    """One client at the other end of a pair of byte streams. Owns what is read and not handled yet, and what is to be
    written. Runs on the event loop; `notify` and answers never wait.
    """

    def __init__(
        self, handle: Handle, read: Callable[[], Awaitable[bytes]], max_unread_bytes: int = MAX_UNREAD_BYTES
    ) -> None:
        self._handle, self._read, self._max_unread_bytes = handle, read, max_unread_bytes
        self._lines = LineReader()
        self._ready: list[Json] = []
        self._unsent: list[bytes] = []
        self._unread_bytes = 0
        self._more = asyncio.Event()
        self._over = False
        self.lost = asyncio.Event()
        """It reads no more."""
        self._connection = Connection(self._handled, self, listening=False)

    async def serve(self) -> None:
        """Until the client's last byte."""
        await self._connection.main_loop()

    async def end(self) -> None:
        await self._connection.close()

    def notify(self, method: str, params: Json) -> None:
        self._put({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: Json, model: type[ModelT]) -> ModelT:
        """Raises RequestError for the client's refusal and for an answer that is none, ClientLost where it is gone.
        Giving up the wait is allowed: an answer that comes later concerns nobody."""
        try:
            return parse(model, await self._connection.send_request(method, params))
        except ConnectionError:
            raise ClientLost from None

    async def batch(self) -> list[bytes]:
        """Lines to write, at least one; none once all is over."""
        while not self._unsent and not self._over:
            self._more.clear()
            await self._more.wait()
        batch, self._unsent = self._unsent, []
        return batch

    def written(self, batch: list[bytes]) -> None:
        self._unread_bytes -= sum(map(len, batch))

    # As the SDK's connection sees it: a transport of messages

    async def receive(self) -> Json | None:
        while not self._ready:
            data = await self._read()
            for found in self._lines.feed(data) if data else self._lines.end():
                if isinstance(found, Fault):
                    error = {"code": found.code, "message": found.words}
                    self._put({"jsonrpc": "2.0", "id": found.id, "error": error})
                else:
                    self._ready.append(found)
            if not data and not self._ready:
                return None
        return self._ready.pop(0)

    async def send(self, message: Json) -> None:
        self._put(message)

    async def close(self) -> None:
        self._over = True
        self._more.set()

    def _put(self, message: Json) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        if self.lost.is_set():
            return
        self._unread_bytes += len(line)
        if self._unread_bytes > self._max_unread_bytes:
            self.lost.set()
            self._unsent.clear()
            return
        self._unsent.append(line)
        self._more.set()

    async def _handled(self, method: str, params: Any, is_notification: bool) -> Json | None:
        try:
            return await self._handle(method, params, is_notification)
        except RequestError:
            if not is_notification:
                raise
        except Exception as error:  # whatever it is, the process goes on; the SDK would log what it carries
            log.error("%s failed with %s", method[:80], type(error).__name__)
            if not is_notification:
                raise RequestError(-32603, f"internal error ({type(error).__name__}); the log says where") from None
        return None
