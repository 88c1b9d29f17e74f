"""The `mcp` SDK, behind this one module: a connection to one server, in our own types. Loaded when a server starts.

The SDK does the protocol: versions, handshake, streams. What it leaves open is bounded here: a process's lines
(`process.py`), the bytes of an HTTP answer, the pages of a list. Errors leave as `ToolError`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from agent_core import __version__
from agent_core.errors import ToolError
from agent_core.tools.mcp.catalogue import Listed
from agent_core.tools.mcp.content import Answer, Part, line
from agent_core.tools.mcp.process import ServerProcess

MAX_PAGES = 20
MAX_LISTED = 2_000
MAX_HTTP_BYTES = 16_000_000
"""Of one HTTP answer, streams included."""
MAX_MESSAGES = 5_000
"""Events of one stream."""
MAX_EVENT_BYTES = 4_000_000
CONNECT_S, READ_S = 30.0, 300.0

Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]


class HttpEndpoint(msgspec.Struct, frozen=True):
    """A streamable HTTP endpoint, and the headers that only it gets."""

    url: str
    headers: Mapping[str, str]


class Connection:
    """A server that answered the handshake. Its methods may be called from any task; they raise ToolError."""

    def __init__(self, client: Client, new_call: Callable[[], None]) -> None:
        self._client, self._new_call = client, new_call

    async def list_tools(self) -> list[Listed]:
        """All pages, up to a bound."""
        if self._client.server_capabilities.tools is None:
            return []
        found: list[Listed] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            self._new_call()
            try:
                page = await self._client.list_tools(cursor=cursor)
            except Exception as error:
                raise refused(error) from error
            found += [_listed(tool) for tool in page.tools]
            cursor = page.next_cursor
            if not cursor or len(found) >= MAX_LISTED:
                break
        return found

    async def call(
        self, tool: str, arguments: Mapping[str, Any], timeout_s: float, tell: Callable[[str], None]
    ) -> Answer:
        """Call a tool by the server's own name for it."""

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            if message:
                tell(line(message, 300))

        self._new_call()
        params = types.CallToolRequestParams(name=tool, arguments=dict(arguments))
        try:
            # Not `Client.call_tool`: that checks answers by the server's own schemas, whose patterns may never end.
            result = await self._client.session.send_request(
                types.CallToolRequest(params=params), types.CallToolResult, timeout_s, progress_callback=on_progress
            )
        except Exception as error:
            raise refused(error) from error
        return Answer(
            parts=tuple(map(_part, result.content)), failed=result.is_error, structured=_json(result.structured_content)
        )


@asynccontextmanager
async def connect(
    server: ServerProcess | HttpEndpoint, roots: Sequence[str], changed: Callable[[], None]
) -> AsyncIterator[Connection]:
    """A connection that is greeted. `changed` is called when the server says that its tools are others.

    To be left in the task that entered it. Entering raises whatever the SDK does: ask `refused`.
    """
    logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)  # it logs what servers send

    async def list_roots(context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": Path(root).as_uri()}) for root in roots])

    async def on_message(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changed()

    transport = _process_transport(server) if isinstance(server, ServerProcess) else _http_transport(server)
    client = Client(
        transport,
        list_roots_callback=list_roots,
        message_handler=on_message,
        client_info=types.Implementation(name="loopline", version=__version__),
        cache=None,
    )
    async with client:
        yield Connection(client, server.new_call if isinstance(server, ServerProcess) else _nothing)


def refused(error: BaseException) -> ToolError:
    """What went wrong with a server, in our words and a bounded piece of its own."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case ToolError():
            return error
        case MCPError(code=types.REQUEST_TIMEOUT):
            return ToolError("it did not answer in time", code="timeout")
        case MCPError(code=types.CONNECTION_CLOSED):
            return ToolError("it is gone", code="server_gone")
        case MCPError():
            return ToolError(f"it refused: {line(error.message, 500)}", code="server_refused")
        case ValidationError():
            return ToolError("its answer does not fit the protocol", code="bad_answer")
        case httpx2.HTTPError():
            return ToolError(f"it can't be reached ({type(error).__name__})", code="server_gone")
        case anyio.ClosedResourceError() | anyio.BrokenResourceError() | anyio.EndOfStream():
            return ToolError("it is gone", code="server_gone")
    return ToolError(f"its answer could not be used ({type(error).__name__})", code="bad_answer")


@asynccontextmanager
async def _process_transport(process: ServerProcess) -> AsyncGenerator[Streams, None]:
    """The streams that the SDK wants, on a process's lines."""
    incoming, read_stream = anyio.create_memory_object_stream[Incoming](0)
    write_stream, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async def take() -> None:
        async with incoming:
            while (data := await process.read()) is not None:
                if data.strip():
                    await incoming.send(_message(data))

    async def give() -> None:
        try:
            async with outgoing:
                async for message in outgoing:
                    await process.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode())
        except ToolError:
            await incoming.aclose()  # whoever waits for an answer is told that there will be none

    async with anyio.create_task_group() as group:
        group.start_soon(_quiet, take)
        group.start_soon(_quiet, give)
        try:
            yield read_stream, write_stream
        finally:
            for stream in (read_stream, write_stream):
                await stream.aclose()
            group.cancel_scope.cancel()


async def _quiet(pump: Callable[[], Any]) -> None:
    """Streams that the other side closed end a pump; they are no error."""
    try:
        await pump()
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        return


def _message(data: bytes) -> Incoming:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(data, by_name=False))
    except ValueError as error:
        return error


@asynccontextmanager
async def _http_transport(endpoint: HttpEndpoint) -> AsyncGenerator[Any, None]:
    headers = {**endpoint.headers, "Accept-Encoding": "identity"}
    async with (
        httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(CONNECT_S, read=READ_S),
            event_hooks={"response": [_bounded]},
        ) as client,
        streamable_http_client(endpoint.url, http_client=client, max_sse_event_size=MAX_EVENT_BYTES) as streams,
    ):
        yield streams


async def _bounded(response: httpx2.Response) -> None:
    """Each answer of a server is read up to a bound, and never unpacked to more."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.DecodingError("packed answers are not taken")
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _BoundedStream(response.stream)


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        room, messages = MAX_HTTP_BYTES, MAX_MESSAGES
        async for chunk in self._stream:
            room, messages = room - len(chunk), messages - chunk.count(b"data:")
            if room < 0 or messages < 0:
                raise httpx2.ReadError("the answer is too large")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _listed(tool: types.Tool) -> Listed:
    hints = tool.annotations or types.ToolAnnotations()
    return Listed(
        name=tool.name,
        description=tool.description or tool.title or "",
        schema=tool.input_schema,
        read_only=hints.read_only_hint,
        destructive=hints.destructive_hint,
        open_world=hints.open_world_hint,
    )


def _part(content: types.ContentBlock) -> Part:
    match content:
        case types.TextContent(text=text):
            return Part("text", text)
        case types.ImageContent() | types.AudioContent():
            return Part("other", f"{content.type} {content.mime_type}, {len(content.data) * 3 // 4:,} bytes")
        case types.ResourceLink():
            return Part("other", f"resource {content.uri} {content.description or ''}")
        case types.EmbeddedResource(resource=types.TextResourceContents(text=text)):
            return Part("text", text)
    return Part("other", f"resource {content.resource.uri}, not text")


def _json(value: Any) -> str:
    try:
        return "" if value is None else msgspec.json.encode(value).decode()
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return ""


def _nothing() -> None:
    return
