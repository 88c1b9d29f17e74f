"""Chat Completions as servers stream it: deltas from chunks. Pure.

Servers differ: arguments in pieces or at once or as an object, calls with one index for all, reasoning under two names,
usage in the last chunk, behind it, or not at all. Source: OpenAI "Chat Completions streaming"; llama.cpp, Ollama, vLLM.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final, Literal

import msgspec

from agent_core.errors import ProtocolError
from agent_core.responses_server.engine import Delta, Finish
from agent_core.responses_server.engines.chat_turns import FlatTools
from agent_core.responses_server.engines.json_scan import JsonScan
from agent_core.responses_server.engines.upstream.interleaved import Interleaved
from agent_core.wire.errors import read_error_body, to_exception

_REASONS: Final[dict[str, Literal["stop", "max_output_tokens", "content_filter"]]] = {
    "length": "max_output_tokens",
    "content_filter": "content_filter",
}
"""Any other reason is a normal end."""


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    prompt_cache_hit_tokens: int | None = None


class _Timings(msgspec.Struct):
    cache_n: int | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    timings: _Timings | None = None
    error: Any = None


class ChunkReader:
    """One completion. `ended`: a finish reason came; usage may still follow."""

    def __init__(self, tools: FlatTools) -> None:
        self._tools = tools
        self._items = Interleaved()
        self._decoder = msgspec.json.Decoder(_Chunk)
        self._said: tuple[str, int] = ("", 0)
        """Kind and number of the text or reasoning that is open, ("", n) for none."""
        self._call: Hashable = None
        self._call_id: str | None = None
        self._scans: dict[Hashable, JsonScan] = {}
        self._usage: _Usage | None = None
        self._cached: int | None = None
        self._reason: str | None = None

    @property
    def ended(self) -> bool:
        return self._reason is not None

    @property
    def complete(self) -> bool:
        """Nothing more is worth waiting for."""
        return self.ended and self._usage is not None

    def read(self, data: bytes) -> list[Delta]:
        """The deltas of one chunk. Raises ServiceError or AuthError for an error, ProtocolError for what is none."""
        try:
            chunk = self._decoder.decode(data)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            raise ProtocolError("a chunk of the answer is no chat completion") from None
        if chunk.error is not None:
            raise to_exception(read_error_body(data, 500))
        self._usage = chunk.usage or self._usage
        if chunk.timings is not None and chunk.timings.cache_n is not None:
            self._cached = chunk.timings.cache_n
        deltas: list[Delta] = []
        for choice in (chunk.choices or [])[:1]:
            part = choice.delta or choice.message
            if part is not None:
                deltas += self._part(part)
            if choice.finish_reason is not None:
                self._reason = choice.finish_reason
                deltas += self._items.end(cut=choice.finish_reason in _REASONS)
        return deltas

    def finish(self) -> Finish:
        usage = self._usage or _Usage()
        given, made = usage.prompt_tokens_details, usage.completion_tokens_details
        cached = given.cached_tokens if given is not None else None
        if cached is None:
            cached = usage.prompt_cache_hit_tokens if usage.prompt_cache_hit_tokens is not None else self._cached
        return Finish(
            reason=_REASONS.get(self._reason or "", "stop"),
            input_tokens=usage.prompt_tokens,
            cached_tokens=cached,
            output_tokens=usage.completion_tokens,
            reasoning_tokens=made.reasoning_tokens if made is not None else None,
        )

    def _part(self, part: _Delta) -> list[Delta]:
        deltas: list[Delta] = []
        if thought := part.reasoning_content or part.reasoning:
            deltas += self._speak("reasoning")
            deltas += self._items.reasoning(self._said, thought)
        if text := part.content or part.refusal:
            deltas += self._speak("text")
            deltas += self._items.text(self._said, text)
        for at, call in enumerate(part.tool_calls or []):
            deltas += self._called(call, at)
        return deltas

    def _speak(self, kind: str) -> list[Delta]:
        """Close what is of another kind, so that it goes out."""
        if self._said[0] == kind:
            return []
        deltas = self._items.close_all()
        self._said, self._call = (kind, self._said[1] + 1), None
        return deltas

    def _called(self, call: _Call, at: int) -> list[Delta]:
        deltas: list[Delta] = []
        function = call.function or _Function()
        if self._begins(call):
            deltas += self._items.close(self._said)
            if self._call in self._scans and self._scans[self._call].is_complete:
                deltas += self._items.close(self._call)
            self._said = ("", self._said[1])
            self._call, self._call_id = self._place(call, at), call.id
            self._scans[self._call] = JsonScan()
            deltas += self._items.open_call(self._call, self._tools.start(function.name or "", call.id or None))
        elif call.index is not None and self._items.knows(("call", call.index)):
            self._call = ("call", call.index)
        if function.arguments is not None and self._call in self._scans:
            written = function.arguments
            text = written if isinstance(written, str) else msgspec.json.encode(written).decode()
            self._scans[self._call].feed(text)
            deltas += self._items.arguments(self._call, text)
        return deltas

    def _begins(self, call: _Call) -> bool:
        """A new call has a name, and an index or an id that was not seen; servers without either send calls whole."""
        if call.function is None or not call.function.name:
            return False
        if call.index is not None and not self._items.knows(("call", call.index)):
            return True
        if call.id is not None and self._call_id is not None:
            return call.id != self._call_id
        return call.index is None

    def _place(self, call: _Call, at: int) -> Hashable:
        plain = ("call", call.index)
        return plain if call.index is not None and not self._items.knows(plain) else ("call", at, self._items.count)
