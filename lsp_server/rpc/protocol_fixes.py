"""The one subclass of pygls' protocol: everything in pygls 2.1.1 that a hosted agent can't live with, mended here.

What is mended, with the test that fails once pygls no longer needs it, is listed in `tests/unit/lsp_server/
test_pygls_faults.py`. In short: commands are cancelled with their request; `shutdown` survives running requests;
every request is answered, whatever its params; only the top level of a message is read as a message; lines end where
the protocol says; nothing is written on the event loop; late answers harm nobody and leak nothing; no body is logged.
"""

from __future__ import annotations

import asyncio
import contextvars
import enum
import json
import logging
import traceback
from collections.abc import Callable, Generator
from concurrent.futures import Future
from functools import partial
from typing import Any, Protocol

import cattrs
import msgspec
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method

from agent_core.errors import ConfigError, LooplineError, StateError, UsageError
from lsp_server.rpc.errors import ClientGone, ClientRefused, ClientSilent
from lsp_server.rpc.outbox import Outbox

log = logging.getLogger(__name__)

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, INTERNAL = -32700, -32600, -32602, -32603
NOT_INITIALIZED, CANCELLED, REQUEST_FAILED = -32002, -32800, -32803

Id = int | str


def make_converter() -> cattrs.Converter:
    """pygls' converter, with enumerations that keep values they do not know: a newer client is no fault."""
    converter: cattrs.Converter = default_converter()  # type: ignore[no-untyped-call]
    for kind in vars(lsp).values():
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            converter.register_structure_hook(kind, _known_or_as_it_is)
    return converter


def _known_or_as_it_is(value: Any, kind: type[enum.Enum]) -> Any:
    try:
        return kind(value)
    except ValueError:
        if isinstance(value, str | int):
            return value
        raise


class Life(Protocol):
    """Whoever lives through what the protocol tells of one client. All of it returns at once but `shut_down`."""

    def negotiate(self, params: lsp.InitializeParams, result: lsp.InitializeResult) -> None: ...
    def start(self) -> None: ...
    def folders_changed(self, params: lsp.DidChangeWorkspaceFoldersParams) -> None: ...
    async def shut_down(self) -> None: ...
    def exit(self, code: int) -> None: ...
    def did_open(self, params: lsp.DidOpenTextDocumentParams) -> None: ...
    def did_change(self, params: lsp.DidChangeTextDocumentParams) -> None: ...
    def did_close(self, params: lsp.DidCloseTextDocumentParams) -> None: ...
    def progress_cancelled(self, token: int | str) -> None: ...


class FixedProtocol(LanguageServerProtocol):
    """One client's protocol. Messages come in through `receive`, all of it on one event loop."""

    life: Life
    """Set once, before the first message."""

    def __init__(self, server: LanguageServer, converter: cattrs.Converter) -> None:
        super().__init__(server, converter)
        self.outbox = Outbox()
        self.pack: Callable[[bytes], bytes] = lambda body: body
        self.initialized = False
        self._asked: dict[Id, asyncio.Future[Any]] = {}
        self._last_id = self._notices = 0

    # Messages in

    def receive(self, body: bytes) -> None:
        """Handle one message, whatever it is. A request is always answered; nothing is raised."""
        message = self.read(body)
        if message is not None:
            self.handle(message)

    def read(self, body: bytes) -> dict[str, Any] | None:
        """A message as its JSON object; None if it is none, which is answered."""
        try:
            message = _decoded(body)
        except (ValueError, RecursionError):
            self.refuse(None, PARSE_ERROR, "a message is JSON in UTF-8")
            return None
        if isinstance(message, dict):
            return message
        self.refuse(None, INVALID_REQUEST, "a message is a JSON object")
        return None

    def handle(self, message: dict[str, Any]) -> None:
        """What `read` gave. Never raises."""
        method, msg_id = message.get("method"), message.get("id")
        known_id = msg_id if isinstance(msg_id, int | str) and not isinstance(msg_id, bool) else None
        if method is None and "id" in message and ("result" in message or "error" in message):
            self._answered(known_id, message)
        elif not isinstance(method, str) or message.get("jsonrpc") != "2.0" or ("id" in message and known_id is None):
            self.refuse(known_id, INVALID_REQUEST, "a message has jsonrpc 2.0, a method, and an id if it is a request")
        elif known_id is None:
            contextvars.copy_context().run(self._take_notification, method, message)
        else:
            contextvars.copy_context().run(self._take_request, known_id, method, message)

    def refuse(self, msg_id: Id | None, code: int, words: str) -> None:
        """Answer with an error; `msg_id` None where the request's own could not be read."""
        self._send_data({"jsonrpc": "2.0", "id": msg_id, "error": {"code": code, "message": words}})

    def _take_request(self, msg_id: Id, method: str, message: dict[str, Any]) -> None:
        if self._shutdown:
            self.refuse(msg_id, INVALID_REQUEST, "the server was shut down")
        elif not self.initialized and method != lsp.INITIALIZE:
            self.refuse(msg_id, NOT_INITIALIZED, "initialize comes first")
        elif self.initialized and method == lsp.INITIALIZE:
            self.refuse(msg_id, INVALID_REQUEST, "the server is initialized already")
        elif msg_id in self._request_futures:
            self.refuse(msg_id, INVALID_REQUEST, "a request with this id runs already")
        else:
            try:
                params = self._params(method, message)
            except JsonRpcInvalidParams as error:
                self.refuse(msg_id, INVALID_PARAMS, error.message)
                return
            self._handle_request(msg_id, method, params)

    def _take_notification(self, method: str, message: dict[str, Any]) -> None:
        if method != lsp.EXIT and (self._shutdown or not self.initialized):
            return
        try:
            self._handle_notification(method, self._params(method, message))
        except JsonRpcInvalidParams:
            log.warning("a notification %s with params of another form", method[:100])

    def _params(self, method: str, message: dict[str, Any]) -> Any:
        """The params of a message: typed where the protocol types them, else as they are."""
        kind = self.get_message_type(method)
        if kind is None:
            return message.get("params")
        try:
            return self._converter.structure(message, kind).params
        except Exception as error:  # cattrs raises whatever its hooks do
            raise JsonRpcInvalidParams(f"{method}: {_what_is_wrong(error)}") from error

    def _handle_notification(self, method_name: str, params: Any) -> None:
        if method_name == lsp.CANCEL_REQUEST:
            self._handle_cancel_notification(params.id)
            return
        handler = self.fm.builtin_features.get(method_name) or self.fm.features.get(method_name)
        if handler is not None:
            self._notices += 1
            key = f"notification {self._notices}"
            self._execute_handler(key, handler, partial(self._notification_handled, key), (params,))

    def _notification_handled(self, key: Id, future: Future[Any]) -> None:
        self._request_futures.pop(key, None)
        if not future.cancelled() and (failure := future.exception()) is not None:
            _log_failure("a notification", failure)

    def _handle_cancel_notification(self, msg_id: Id) -> None:
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.cancel()

    def _send_handler_result(self, future: Future[Any], *, msg_id: Id) -> None:
        """Answer a request with what its handler came to. Errors say what, never with which content."""
        self._request_futures.pop(msg_id, None)
        if future.cancelled():
            self.refuse(msg_id, CANCELLED, "cancelled")
            return
        failure = future.exception()
        if failure is None:
            try:
                self._send_response(msg_id, result=future.result())
                return
            except Exception as error:  # an answer that can't be written
                failure = error
        self._send_response(msg_id, error=_error_of(failure))

    # Messages out

    def _send_data(self, data: Any) -> None:
        self.send(json.dumps(data, default=self._serialize_message, separators=(",", ":")).encode())

    def send(self, body: bytes, *, droppable: bool = False) -> bool:
        """Queue an encoded message; False if it was left out. Call it on the event loop only."""
        return self.outbox.put(self.pack(body), droppable=droppable)

    def _serialize_message(self, data: Any) -> Any:
        return msgspec.to_builtins(data) if isinstance(data, msgspec.Struct) else super()._serialize_message(data)

    async def ask(self, method: str, params: Any, *, timeout_s: float | None) -> Any:
        """A request to the client, and its result. `timeout_s` None: wait for ever.

        Raises ClientRefused, ClientSilent or ClientGone. A cancelled wait withdraws the request.
        """
        if self.outbox.closed:
            raise ClientGone(method)
        self._last_id += 1
        msg_id, future = self._last_id, asyncio.get_running_loop().create_future()
        self._asked[msg_id] = future
        kind = self.get_message_type(method)
        message = {"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params}
        self._send_data(kind(id=msg_id, params=params) if kind is not None else message)
        try:
            async with asyncio.timeout(timeout_s):
                answer = await future
        except TimeoutError:
            self.notify(lsp.CANCEL_REQUEST, lsp.CancelParams(id=msg_id))
            raise ClientSilent(method, timeout_s or 0.0) from None
        except asyncio.CancelledError:
            self.notify(lsp.CANCEL_REQUEST, lsp.CancelParams(id=msg_id))
            raise
        finally:
            self._asked.pop(msg_id, None)
        if answer is None:
            raise ClientGone(method)
        return self._result(method, answer)

    def _answered(self, msg_id: Id | None, message: dict[str, Any]) -> None:
        """An answer of the client; one to a request that nobody waits for any more is of no interest."""
        future = self._asked.get(msg_id) if msg_id is not None else None
        if future is not None and not future.done():
            future.set_result(message)

    def _result(self, method: str, message: dict[str, Any]) -> Any:
        if (error := message.get("error")) is not None:
            code = error.get("code") if isinstance(error, dict) else None
            raise ClientRefused(method, code if isinstance(code, int) else None)
        kind = self.get_result_type(method)
        if kind is None:
            return message.get("result")
        try:
            return self._converter.structure(message, kind).result
        except Exception as error:  # cattrs raises whatever its hooks do
            raise ClientRefused(method, None) from error

    def abandon(self) -> None:
        """The connection is over: nobody waits for the client any more."""
        self.outbox.close()
        for future in self._asked.values():
            if not future.done():
                future.set_result(None)
        for pending in list(self._request_futures.values()):
            pending.cancel()

    # Built-in methods

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(self, params: lsp.InitializeParams) -> Generator[Any, Any, lsp.InitializeResult]:
        """Negotiate; what is ours is announced in `experimental.loopline`."""
        result: lsp.InitializeResult = yield from super().lsp_initialize(params)
        self.life.negotiate(params, result)
        self.initialized = True
        return result

    @lsp_method(lsp.INITIALIZED)
    def lsp_initialized(self, *args: Any) -> None:
        self.life.start()

    @lsp_method(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def lsp_workspace__did_change_workspace_folders(self, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        self.life.folders_changed(params)

    @lsp_method(lsp.SHUTDOWN)
    async def lsp_shutdown(self, *args: Any) -> None:  # type: ignore[override]
        await self.life.shut_down()
        own = self.msg_id
        for msg_id, future in list(self._request_futures.items()):
            if msg_id != own:
                future.cancel()
        self._shutdown = True

    @lsp_method(lsp.EXIT)
    def lsp_exit(self, *args: Any) -> None:  # type: ignore[override]
        self.life.exit(0 if self._shutdown else 1)

    @lsp_method(lsp.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # type: ignore[override]
        self, params: lsp.ExecuteCommandParams
    ) -> Any:
        handler = self.fm.commands.get(params.command)
        if handler is None:
            raise JsonRpcInvalidParams(f"there is no command {params.command[:100]!r}")
        return await handler(params)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        self.life.did_open(params)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        self.life.did_change(params)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        self.life.did_close(params)

    @lsp_method(lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(self, params: lsp.WorkDoneProgressCancelParams) -> None:
        self.life.progress_cancelled(params.token)


def _decoded(body: bytes) -> Any:
    """A message as JSON; msgspec is some ten times faster with a large one, and stricter (NaN, half a surrogate pair).
    Raises ValueError or RecursionError."""
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return json.loads(body)


def _what_is_wrong(error: Exception) -> str:
    """Which field does not fit, in one line."""
    try:
        found = cattrs.transform_error(error, path="params")
    except Exception:  # an error that cattrs has no words for
        found = []
    return "; ".join(line.split(" @ ")[-1] + ": " + line.split(" @ ")[0] for line in found[:3])[:500] or "wrong form"


def _error_of(failure: BaseException) -> lsp.ResponseError:
    """The answer to a request that failed. `data` carries the stable code and the way out."""
    if isinstance(failure, LooplineError):
        ours = isinstance(failure, UsageError | ConfigError | StateError)
        code = INVALID_PARAMS if ours else REQUEST_FAILED
        hint = f" ({failure.hint})" if failure.hint else ""
        return lsp.ResponseError(code, failure.message + hint, {"code": failure.code, "hint": failure.hint})
    if isinstance(failure, JsonRpcException):
        return lsp.ResponseError(failure.code, failure.message)
    _log_failure("a request", failure)
    return lsp.ResponseError(INTERNAL, f"internal error ({type(failure).__name__}); the log says where")


def _log_failure(of_what: str, failure: BaseException) -> None:
    """Where it happened, without the message, which may hold content."""
    place = "".join(traceback.format_tb(failure.__traceback__)[-4:])
    log.error("the handler of %s failed with %s\n%s", of_what, type(failure).__name__, place)
