"""Chat Completions as servers stream it: deltas from chunks. Pure.

The shapes that fields take are read by `shapes`, pieces of calls are put together by `calls`; here is the order of an
answer and where it ends. A finish reason is no end, as some servers put one on every chunk: the end is `[DONE]`, a last
usage, or the orderly end of the stream with nothing half said. Sources: tests/support/engines/chat_shapes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from datetime import datetime
from typing import Any, Final, Literal

from agent_core.clock import utc_now
from agent_core.errors import AuthError, ConnectionLost, EngineError, ProtocolError, ServiceError
from agent_core.responses_server.engine import Delta, Finish
from agent_core.responses_server.engines.chat_turns import FlatTools
from agent_core.responses_server.engines.upstream import shapes
from agent_core.responses_server.engines.upstream.calls import CallSorter, OpenCall, real_name
from agent_core.responses_server.engines.upstream.interleaved import Interleaved
from agent_core.responses_server.engines.upstream.think_tags import ThinkTags
from agent_core.text import lenient_json, sound_json
from agent_core.wire.codec import encode
from agent_core.wire.error_forms import read_error
from agent_core.wire.errors import to_exception
from agent_core.wire.head import read_head

_LIMIT, _FILTER = "max_output_tokens", "content_filter"
_REASONS: Final[dict[str, Literal["max_output_tokens", "content_filter"]]] = {
    "length": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "max_output_tokens": "max_output_tokens",
    "model_length": "max_output_tokens",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "sensitive": "content_filter",
}
"""Any other reason is a normal end, or one of `_FAILURES`."""

_FAILURES: Final = frozenset({"error", "network_error", "insufficient_system_resource"})

GRACE_S: Final = 2.0
"""How long the end of a stream may take once the answer seems whole."""


class ChunkReader:
    """One completion. `known_ids`: of the conversation's calls, which no new one gets. `now`: for pauses that a
    failure amid the stream gives as a date."""

    def __init__(
        self, tools: FlatTools, known_ids: Collection[str] = (), now: Callable[[], datetime] = utc_now
    ) -> None:
        self._tools = tools
        self._now = now
        self._ids = set(known_ids)
        self._items = Interleaved()
        self._sorter = CallSorter(tools.by_name)
        self._tags = ThinkTags()
        self._said: tuple[str, int] = ("", 0)
        """Kind and number of the text or reasoning that is open, ("", n) for none."""
        self._choice: Any = None
        self._counts: dict[str, int | None] = {}
        self._cached: int | None = None
        self._reason = ""
        self._alone = self._usage_came = self._spoke = self._read_any = False
        self._tells_ends = False
        """Whether the server gives finish reasons at all, or whole messages; from one that gives none an end of the
        stream may as well be a cut."""
        self.reasoning_field = ""
        """The field in which the server sends reasoning, "" if it sent none."""
        self.closed = False

    @property
    def begun(self) -> bool:
        """Whether anything of an answer came."""
        return self._read_any

    @property
    def patience_s(self) -> float | None:
        """How long to wait for more: not long once a finish reason came by itself, or a last usage."""
        return GRACE_S if self._seems_whole else None

    @property
    def complete(self) -> bool:
        return self.closed

    def read(self, data: bytes) -> list[Delta]:
        """The deltas of one message. Raises ServiceError or AuthError for an error, ProtocolError for what is none."""
        if not data.lstrip().startswith((b"{", b"[")):
            return []  # keep-alive text
        try:
            return self._chunk(lenient_json(data), data)
        except ValueError:
            pass
        deltas: list[Delta] = []
        lines = [line.strip() for line in data.split(b"\n") if line.strip()]
        for line in lines if len(lines) > 1 else ():
            try:
                deltas += self._chunk(lenient_json(line), line)
            except ValueError:
                break
        else:
            if len(lines) > 1:
                return deltas
        raise ProtocolError("a chunk of the answer is no chat completion")

    def end(self, *, done: bool, orderly: bool) -> list[Delta]:
        """The stream is over. `done`: by `[DONE]`; `orderly`: the server ended it. Raises ConnectionLost for an
        answer that was cut off, and ServiceError for one that the server gave up."""
        if not self._read_any and not done and orderly:
            raise ProtocolError("the answer holds no chat completion")
        half = any(call.written.strip() and not call.is_whole for call in self._sorter.calls)
        whole = done or self._seems_whole or (orderly and self._tells_ends and (self._spoke or bool(self._reason)))
        if not whole or (half and not self._reason and not done):
            raise ConnectionLost("the answer ended before it was whole")
        if self._reason in _FAILURES:
            raise EngineError("The server gave up in the middle of its answer; try again.", code="server_error")
        deltas = [delta for kind, text in self._tags.finish() for delta in self._say(kind, text)]
        for call in self._sorter.calls:
            deltas += self._start(call)
        deltas += self._items.end(cut=self._reason in _REASONS)
        self.closed = True
        return deltas

    def finish(self) -> Finish:
        counts = dict(self._counts)
        if counts.get("cached_tokens") is None:
            counts["cached_tokens"] = self._cached
        return Finish(reason=_REASONS.get(self._reason, "stop"), **counts)

    @property
    def _seems_whole(self) -> bool:
        return bool(self._reason) and (self._alone or self._usage_came) or (self._usage_came and self._spoke)

    def _chunk(self, chunk: Any, data: bytes) -> list[Delta]:
        if isinstance(chunk, list):
            return [delta for each in chunk for delta in self._chunk(each, encode(each))]
        if not isinstance(chunk, dict):
            raise ProtocolError("a chunk of the answer is no chat completion")
        self._raise_error(chunk, data)
        choices = shapes.choices(chunk)
        self._read_any = self._read_any or bool(choices) or "choices" in chunk or "usage" in chunk
        usage = chunk.get("usage") or shapes.field(chunk, "x_groq", "usage")
        if not usage and "eval_count" in chunk:
            usage = chunk
        for choice in choices:
            usage = usage or choice.get("usage")
        if isinstance(usage, dict):
            counts = shapes.counts(usage)
            self._counts |= {name: count for name, count in counts.items() if count is not None}
            self._usage_came = self._usage_came or not choices
        cached = shapes.number(shapes.field(chunk, "timings", "cache_n"))
        self._cached = self._cached if cached is None else cached
        return [delta for choice in choices for delta in self._read_choice(choice)]

    def _read_choice(self, choice: dict[str, Any]) -> list[Delta]:
        index = shapes.place(choice.get("index"))
        self._choice = index if self._choice is None else self._choice
        if index != self._choice:
            return []
        part = choice.get("delta")
        if not part and not self._spoke:
            self._tells_ends = self._tells_ends or isinstance(choice.get("message"), dict)
            part = choice.get("message") or {"content": choice.get("text")}
        deltas = self._part(part) if isinstance(part, dict) else []
        reason = choice.get("finish_reason")
        self._tells_ends = self._tells_ends or isinstance(reason, str)
        if isinstance(reason, str) and reason:
            # The name of a call says nothing yet, and its arguments follow.
            called = bool(shapes.calls(part)) if isinstance(part, dict) else False
            self._reason, self._alone = reason.lower(), not (deltas or called)
        elif deltas:
            # What was called an end was none.
            self._alone = self._usage_came = False
        return deltas

    def _part(self, part: dict[str, Any]) -> list[Delta]:
        deltas: list[Delta] = []
        thought, field = shapes.reasoning(part)
        self.reasoning_field = self.reasoning_field or field
        if thought:
            deltas += self._say("reasoning", thought)
        for thinks, text in [*shapes.parts(part.get("content")), *shapes.parts(part.get("refusal"))]:
            pieces = [("reasoning", text)] if thinks else self._tags.feed(text)
            for kind, piece in pieces:
                deltas += self._say(kind, piece)
            self._spoke = True
        for each in shapes.calls(part):
            deltas += self._called(each)
        self._spoke = self._spoke or bool(deltas)
        return deltas

    def _say(self, kind: str, text: str) -> list[Delta]:
        deltas: list[Delta] = []
        if self._said[0] != kind:
            # Close what is of another kind, so that it goes out.
            deltas += self._close_whole(self._sorter.calls)
            self._said = (kind, self._said[1] + 1)
        return deltas + self._write(self._said, text)

    def _write(self, key: Hashable, text: str) -> list[Delta]:
        if isinstance(key, tuple) and key[0] == "reasoning":
            return self._items.reasoning(key, text)
        if isinstance(key, tuple):
            return self._items.text(key, text)
        return self._items.arguments(key, text)

    def _close_whole(self, calls: Sequence[OpenCall]) -> list[Delta]:
        """The end of what is whole: what was said so far, and of `calls` those whose arguments are complete."""
        deltas = self._items.close(self._said)
        for call in calls:
            if call.is_whole and call.name:
                deltas += [*self._start(call), *self._items.close(call.key)]
        return deltas

    def _called(self, piece: dict[str, Any]) -> list[Delta]:
        before = len(self._sorter.calls)
        call = self._sorter.take(piece)
        if call is None:
            return []
        deltas: list[Delta] = []
        if len(self._sorter.calls) > before:
            deltas += self._close_whole(self._sorter.calls[:before])
            self._said = ("", self._said[1])
        if call.name and (call.started or call.is_settled):
            deltas += self._start(call)
        return deltas

    def _start(self, call: OpenCall) -> list[Delta]:
        """Open a call, as late as its name may still grow, and pass on what came of it."""
        deltas: list[Delta] = []
        if not call.started:
            call.started = True
            name = real_name(call.name, self._tools.by_name) or "unknown"
            call_id = None if not call.id or call.id in self._ids else call.id
            self._ids.add(call.id)
            deltas += self._items.open_call(call.key, self._tools.start(name, call_id))
        text, call.waiting = call.waiting, ""
        return deltas + self._write(call.key, text)

    def _raise_error(self, chunk: dict[str, Any], data: bytes) -> None:
        """Servers report failures amid a stream, under a status of success."""
        error = chunk.get("error")
        if error or chunk.get("object") == "error" or ("choices" not in chunk and chunk.get("type") == "error"):
            raise _failure(data, self._now())
        told = isinstance(chunk.get("message") or chunk.get("detail"), str | list) and not self._reason
        if told and not chunk.get("choices") and "usage" not in chunk:
            raise _failure(data, self._now())


def _failure(data: bytes, now: datetime) -> ServiceError | AuthError:
    """The error that a chunk is; its status is the one that it states."""
    event = read_error(read_head(sound_json(data)))
    event.status = event.status if event.status is not None and 400 <= event.status < 600 else 500
    return to_exception(event, now)
