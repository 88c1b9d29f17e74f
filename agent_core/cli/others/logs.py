"""Lines of the session logs that other agents leave on the disk, as events: figures and ids, never a text. Pure.

A reader is fed a log's lines in order and gives the events of each. What a log does not tell stays missing; a line that
is damaged, or of a shape that is not known, is said so by `BadLine` or gives nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from agent_core.telemetry import events as ev

_ID = re.compile(r"[A-Za-z0-9_.-]{1,128}\Z")
At = tuple[int, ev.Event]
"""(nanoseconds since the Unix epoch, an event without stamps)."""


class BadLine(ValueError):
    """A line that is no JSON object, or whose values can't be."""


class Reader(Protocol):
    def line(self, told: Mapping[str, Any]) -> Iterator[At]:
        """The events of one line. Raises `BadLine`."""


def parse(line: bytes) -> Mapping[str, Any]:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        raise BadLine("no JSON") from None
    if not isinstance(told, dict):
        raise BadLine("no object")
    return told


class Codex:
    """`sessions/**/rollout-*.jsonl`. Source: measured with Codex 0.171; the warm-up is not in it."""

    def __init__(self) -> None:
        self._session = ""
        self._model: str | None = None
        self._turns: dict[str, str] = {}

    def line(self, told: Mapping[str, Any]) -> Iterator[At]:
        payload = told.get("payload")
        if not isinstance(payload, dict):
            return
        kind = told.get("type") if told.get("type") != "event_msg" else payload.get("type")
        if kind == "session_meta":
            self._session = _id(payload.get("id"))
            client = f"{_label(payload.get('originator')) or 'codex'}/{_label(payload.get('cli_version'))}".rstrip("/")
            yield _at(told), ev.SessionStarted(session=self._session, client=client)
        elif kind == "turn_context":
            self._model = _label(payload.get("model")) or self._model
        elif kind == "task_started":
            turn = _id(payload.get("turn_id"))
            # The trace's id, by which the exporter knows the turn too.
            self._turns[turn] = _id(payload.get("trace_id")) or turn
            yield _at(told), ev.TurnStarted(session=self._session, turn=self._turns[turn])
        elif kind == "token_usage_record" and isinstance(payload.get("usage"), dict):
            usage = payload["usage"]
            response = _id(payload.get("response_id"))
            yield (
                _at(told),
                ev.CallReported(
                    session=self._session,
                    turn=self._turn(payload),
                    call=response or None,
                    reporter="import:codex",
                    status="completed",
                    model=self._model,
                    response_id=response or None,
                    input_tokens=_count(usage, "input_tokens"),
                    cached_tokens=_count(usage, "cached_input_tokens"),
                    cache_write_tokens=_count(usage, "cache_write_input_tokens"),
                    output_tokens=_count(usage, "output_tokens"),
                    reasoning_tokens=_count(usage, "reasoning_output_tokens"),
                ),
            )
        elif kind in ("task_complete", "turn_aborted"):
            status: ev.Status = "completed" if kind == "task_complete" else "interrupted"
            took_ms = _figure(payload, "duration_ms") or 0.0
            yield _at(told), _ended(self._session, self._turn(payload), status, took_ms)

    def _turn(self, payload: Mapping[str, Any]) -> str | None:
        turn = _id(payload.get("turn_id"))
        return self._turns.get(turn, turn) or None


class Copilot:
    """`session-state/*/events.jsonl`. Source: measured with Copilot CLI 1.0.102. What a person said and all that is
    done about it is one interaction, which is a turn here; that it is over is known once the next thing is said."""

    def __init__(self) -> None:
        self._session, self._turn = "", ""
        self._said_ns: int | None = None
        self._idle_ns: int | None = None
        """When the model last had nothing more to do."""

    def line(self, told: Mapping[str, Any]) -> Iterator[At]:
        data = told.get("data")
        if not isinstance(data, dict):
            return
        if told.get("type") == "session.start":
            self._session = _id(data.get("sessionId"))
            client = f"github-copilot/{_label(data.get('copilotVersion'))}".rstrip("/")
            yield _at(told), ev.SessionStarted(session=self._session, client=client)
        elif told.get("type") == "user.message":
            yield from self._over()
            self._said_ns = _at(told)
        elif told.get("type") == "assistant.turn_start":
            turn = _id(data.get("interactionId"))
            self._idle_ns = None
            if turn and turn != self._turn:
                self._turn = turn
                self._said_ns = _at(told) if self._said_ns is None else self._said_ns
                yield self._said_ns, ev.TurnStarted(session=self._session, turn=turn)
        elif told.get("type") == "assistant.turn_end":
            self._idle_ns = _at(told)
        elif told.get("type") == "session.usage_record" and isinstance(data.get("usage"), dict):
            usage = data["usage"]
            response = _id(usage.get("apiCallId"))
            transport: ev.TransportKind | None = "websocket" if usage.get("transport") == "websocket" else None
            yield (
                _at(told),
                ev.CallReported(
                    session=self._session,
                    turn=self._turn or None,
                    call=response or _id(told.get("id")) or None,
                    reporter="import:copilot",
                    status="completed",
                    model=_label(usage.get("model")) or None,
                    transport=transport,
                    response_id=response or None,
                    duration_ms=_figure(usage, "duration"),
                    ttft_ms=_figure(usage, "timeToFirstTokenMs"),
                    input_tokens=_count(usage, "inputTokens"),
                    cached_tokens=_count(usage, "cacheReadTokens") if usage.get("cacheDetailsReported") else None,
                    cache_write_tokens=_count(usage, "cacheWriteTokens") if usage.get("cacheDetailsReported") else None,
                    output_tokens=_count(usage, "outputTokens"),
                    reasoning_tokens=_count(usage, "reasoningTokens"),
                    finish_reason=_label(usage.get("finishReason")) or None,
                ),
            )

    def _over(self) -> Iterator[At]:
        """The end of the interaction before, if it is known."""
        turn, said_ns, idle_ns = self._turn, self._said_ns, self._idle_ns
        self._turn, self._said_ns, self._idle_ns = "", None, None
        if turn and said_ns is not None and idle_ns is not None:
            yield idle_ns, _ended(self._session, turn, "completed", (idle_ns - said_ns) / 1e6)


class Claude:
    """`projects/*/*.jsonl`. Source: its shape as described in public; the real client was not run. A reply has one line
    per block, each with the usage of the whole: the same call told again. Input does not hold the cached tokens. A turn
    begins with what a person said, and ends with a reply that asks for nothing more."""

    def __init__(self) -> None:
        self._sessions: set[str] = set()
        self._turn = ""
        self._said_ns: int | None = None

    def line(self, told: Mapping[str, Any]) -> Iterator[At]:
        message = told.get("message")
        if told.get("type") == "user" and isinstance(message, dict) and _said(told, message.get("content")):
            self._turn = _id(told.get("promptId")) or _id(told.get("uuid"))
            if self._turn:
                self._said_ns = _at(told)
                yield self._said_ns, ev.TurnStarted(session=_id(told.get("sessionId")), turn=self._turn)
            return
        if told.get("type") != "assistant" or not isinstance(message, dict):
            return
        usage, session = message.get("usage"), _id(told.get("sessionId"))
        if not isinstance(usage, dict):
            return
        if session not in self._sessions:
            self._sessions.add(session)
            version = _label(told.get("version"))
            yield _at(told), ev.SessionStarted(session=session, client=f"claude-code/{version}".rstrip("/"))
        fresh = _count(usage, "input_tokens")
        cached, written = _count(usage, "cache_read_input_tokens"), _count(usage, "cache_creation_input_tokens")
        yield (
            _at(told),
            ev.CallReported(
                session=session,
                turn=self._turn or None,
                call=_id(message.get("id")) or _id(told.get("requestId")) or None,
                reporter="import:claude",
                status="completed",
                model=_label(message.get("model")) or None,
                response_id=_id(told.get("requestId")) or None,
                input_tokens=None if fresh is None else fresh + (cached or 0) + (written or 0),
                cached_tokens=cached,
                cache_write_tokens=written,
                output_tokens=_count(usage, "output_tokens"),
                finish_reason=_label(message.get("stop_reason")) or None,
            ),
        )
        if message.get("stop_reason") in _LAST_WORDS and self._said_ns is not None and not told.get("isSidechain"):
            at_ns, said_ns, self._said_ns = _at(told), self._said_ns, None
            yield at_ns, _ended(session, self._turn, "completed", max(0.0, (at_ns - said_ns) / 1e6))


_LAST_WORDS = ("end_turn", "stop_sequence", "max_tokens", "refusal")


def _said(told: Mapping[str, Any], content: object) -> bool:
    """Whether a line of a user is what a person said, and no tool's output, note or task of a subagent."""
    if told.get("isMeta") or told.get("isSidechain"):
        return False
    if isinstance(content, list):
        return not any(isinstance(block, dict) and block.get("type") == "tool_result" for block in content)
    return isinstance(content, str)


READERS: dict[str, Callable[[], Reader]] = {"codex": Codex, "copilot": Copilot, "claude": Claude}
PLACES: dict[str, tuple[str, str, str]] = {
    "codex": ("CODEX_HOME", ".codex", "sessions/**/rollout-*.jsonl"),
    "copilot": ("COPILOT_HOME", ".copilot", "session-state/*/events.jsonl"),
    "claude": ("CLAUDE_CONFIG_DIR", ".claude", "projects/*/*.jsonl"),
}
"""Variable of the agent's folder, where it is without it, and its logs in there."""


def _ended(session: str, turn: str | None, status: ev.Status, duration_ms: float) -> ev.TurnFinished:
    return ev.TurnFinished(
        session=session, turn=turn, status=status, duration_ms=duration_ms, stages_ms={}, calls=0, tools=0
    )


def _at(told: Mapping[str, Any]) -> int:
    try:
        moment = datetime.fromisoformat(str(told.get("timestamp")))
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        micros = int(moment.timestamp() * 1_000_000)
    except (ValueError, OverflowError):
        raise BadLine("no time") from None
    if not 1_500_000_000_000_000 < micros < 4_000_000_000_000_000:
        raise BadLine("a time that can't be")
    return micros * 1000


def _id(value: object) -> str:
    return value if isinstance(value, str) and _ID.match(value) else ""


def _label(value: object) -> str:
    return value[:80] if isinstance(value, str) and value[:80].isprintable() else ""


def _count(told: Mapping[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62 else None


def _figure(told: Mapping[str, Any], name: str) -> float | None:
    value = told.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e10:
        return None
    return float(value)
