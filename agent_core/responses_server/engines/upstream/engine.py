"""The engine: which API a server has, calls over it, and bounds on what it may send."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Final

from agent_core.errors import LooplineError, ProtocolError, ServiceError
from agent_core.responses_server.engine import (
    Capabilities,
    Delta,
    EngineRequest,
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from agent_core.responses_server.engines.upstream.affinity import Affinity
from agent_core.responses_server.engines.upstream.chat import chat_body, slot_fields
from agent_core.responses_server.engines.upstream.chunks import ChunkReader
from agent_core.responses_server.engines.upstream.failures import MISSING_STATUS, PASSED_ON, as_engine_error
from agent_core.responses_server.engines.upstream.lane import LaneMemory, lane_memory, span_of
from agent_core.responses_server.engines.upstream.offer import offer
from agent_core.responses_server.engines.upstream.posting import Poster, Reader
from agent_core.responses_server.engines.upstream.profile import Profile, relaxed
from agent_core.responses_server.engines.upstream.responses import ResponsesReader, input_items, response_body
from agent_core.responses_server.engines.upstream.settings import Api, read_settings
from agent_core.responses_server.engines.upstream.slots import count_slots
from agent_core.responses_server.engines.upstream.socket import Sockets
from agent_core.wire.codec import encode
from agent_core.wire.items import call_id_of

log = logging.getLogger(__name__)

CHARS_PER_TOKEN: Final = 32
"""More than any tokenizer puts into one token on average; a server that sends more than that keeps to no limit."""
MOST_CHARS: Final = 8_000_000
"""Longest answer that is taken where no limit is given."""


class UpstreamEngine:
    def __init__(self, name: str, spec: str, options: Mapping[str, Any]) -> None:
        """Raises ConfigError for a spec or options that can't be."""
        self.name = name
        self._settings = settings = read_settings(name, spec, options)
        self._poster, self._sockets = Poster(settings), Sockets(settings)
        self._way: Api | None = None if settings.api == "auto" else settings.api
        self._affinity = Affinity(0)
        self._asking = asyncio.Lock()
        self._profile, self._reasoning_field = settings.first_profile, ""
        self.capabilities = Capabilities(
            tools=True, chat=True, custom_tools=settings.knows_custom_tools, json_output=True, own_tokens=True
        )

    async def stream(self, request: EngineRequest) -> AsyncIterator[Delta]:
        bound = _Bound(request.max_output_tokens)
        try:
            async with aclosing(self._deltas(request)) as deltas:
                async for delta in deltas:
                    if not bound.allows(delta):
                        yield Finish(reason="max_output_tokens")
                        return
                    yield delta
        except LooplineError as error:
            raise as_engine_error(error, self._settings) from None

    async def warm(self, request: EngineRequest) -> Finish:
        """Ask the server what it has, and connect."""
        try:
            if await self._api() == "websocket":
                await self._sockets.ready(lane_memory(request))
        except LooplineError as error:
            raise as_engine_error(error, self._settings) from None
        return Finish()

    async def close(self) -> None:
        await self._sockets.close()
        await self._poster.close()

    async def _deltas(self, request: EngineRequest) -> AsyncGenerator[Delta, None]:
        api = await self._api()
        lane = lane_memory(request)
        tools = offer(request, self._settings).tools
        reader: Reader
        with self._affinity.using(lane) as slot:
            if api == "chat":
                reader = ChunkReader(tools, {known for item in request.items if (known := call_id_of(item))})
                calls = self._chat(request, lane, slot, reader)
            else:
                reader = ResponsesReader(tools, request.max_output_tokens)
                fields = response_body(request, self._settings, lane.key) | slot_fields(slot)
                if api == "websocket":
                    calls = self._sockets.call(request, lane, fields, reader)
                else:
                    body = encode({**fields, "input": input_items(request.items, 0, lane.spans)})
                    calls = self._poster.call("/responses", body, reader)
            async with aclosing(calls) as deltas:
                async for delta in deltas:
                    yield delta
        if isinstance(reader, ResponsesReader):
            _keep(request, lane, reader)
        yield reader.finish()

    async def _chat(
        self, request: EngineRequest, lane: LaneMemory, slot: int | None, reader: ChunkReader
    ) -> AsyncGenerator[Delta, None]:
        """One call, in the form that the server takes; what a refusal teaches is kept."""
        profiles: Iterator[Profile] = iter(())
        profile, refusal, tried = self._profile, None, set[bytes]()
        while True:
            fields = chat_body(request, self._settings, lane.key, slot, profile, self._reasoning_field)
            body = encode(fields)
            if body not in tried:
                tried.add(body)
                try:
                    async with aclosing(self._poster.call("/chat/completions", body, reader)) as deltas:
                        async for delta in deltas:
                            yield delta
                    break
                except ServiceError as error:
                    if reader.begun or error.code in PASSED_ON:
                        raise refusal or error from None
                    if refusal is None:
                        refusal, profiles = error, relaxed(profile, error, fields)
            following = next(profiles, None)
            if following is None or refusal is None:
                raise refusal or ProtocolError("the request can't be put in another form")
            profile = following
        if profile is not self._profile:
            log.info("%s: %s takes other requests than it was sent at first", self.name, self._settings.place)
        self._profile = profile
        self._reasoning_field = reader.reasoning_field or self._reasoning_field

    async def _api(self) -> Api:
        """Which API the server has; asked once, by a request that no API could carry out. Raises as a POST does."""
        async with self._asking:
            if self._way is None or self._way == "auto":
                self._way = await self._ask()
                self._affinity = Affinity(0 if self._settings.is_openai else await count_slots(self._settings))
                log.info("%s: %s has %s", self.name, self._settings.place, self._way)
            return self._way

    async def _ask(self) -> Api:
        try:
            stream = await self._poster.open("/responses", b"{}")
        except ServiceError as error:
            if error.status in MISSING_STATUS:
                return "chat"
            if error.status is None or error.status >= 500 or error.status == 429:
                raise
            return "responses"
        except ProtocolError:
            return "chat"
        await stream.close()
        return "responses"


class _Bound:
    """What an answer may have at most, in characters: a server that never stops must not run for ever."""

    def __init__(self, max_output_tokens: int | None) -> None:
        self._left = MOST_CHARS if max_output_tokens is None else (max_output_tokens + 64) * CHARS_PER_TOKEN

    def allows(self, delta: Delta) -> bool:
        if isinstance(delta, TextDelta | ReasoningDelta | ToolCallDelta):
            self._left -= len(delta.text)
        return self._left >= 0


def _keep(request: EngineRequest, lane: LaneMemory, reader: ResponsesReader) -> None:
    span = span_of(len(request.items), reader.count, reader.raws)
    if span is not None:
        lane.spans.append(span)
