"""Where features bind their commands and requests: the pygls server, seen from them. Arguments arrive checked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

S = TypeVar("S", bound=msgspec.Struct)


class Routes:
    """Of one server object."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self.feature = server.feature
        """Binds a method of LSP itself, as pygls does."""

    def on_command(self, name: str, kind: type[S], handler: Callable[[S, int | str | None], Awaitable[Any]]) -> None:
        """`handler` gets the command's one argument, checked, and the `workDoneToken`; it returns at once."""

        async def run(params: lsp.ExecuteCommandParams) -> Any:
            arguments = params.arguments or [{}]
            if len(arguments) != 1:
                raise JsonRpcInvalidParams(f"{name} takes one object, got {len(arguments)} arguments")
            return await handler(_converted(arguments[0], kind, name), params.work_done_token)

        self._server.command(name)(run)

    def on_request(self, name: str, kind: type[S], handler: Callable[[S], Awaitable[Any]]) -> None:
        """A request (or notification) of our own."""

        async def run(params: Any) -> Any:
            return await handler(_converted(params, kind, name))

        self._server.feature(name)(run)


def _converted(given: Any, kind: type[S], name: str) -> S:
    """`given` as the shape it should have. Raises JsonRpcInvalidParams that names the field."""
    try:
        return msgspec.convert({} if given is None else given, kind)
    except msgspec.ValidationError as error:
        raise JsonRpcInvalidParams(f"{name}: {error}") from error
