"""Lines of the session logs that other agents leave on the disk, as events: figures and ids, never a text. Pure.

A reader is fed a log's lines in order and gives the events of each. What a log does not tell stays missing; a line that
is damaged, or of a shape that is not known, is said so by `BadLine` or gives nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from agent_core.telemetry import events as ev
from agent_core.telemetry.source import SOURCE_PATTERN

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
            end = ev.TurnFinished(status=status, duration_ms=took_ms, stages_ms={}, calls=0, tools=0)
            yield _at(told), _of(end, self._session, self._turn(payload))

    def _turn(self, payload: Mapping[str, Any]) -> str | None:
        turn = _id(payload.get("turn_id"))
        return self._turns.get(turn, turn) or None


class Copilot:
    """`session-state/*/events.jsonl`. Source: measured with Copilot CLI 1.0.102. It does not tell where a turn ends."""

    def __init__(self) -> None:
        self._session = ""

    def line(self, told: Mapping[str, Any]) -> Iterator[At]:
        data = told.get("data")
        if not isinstance(data, dict):
            return
        if told.get("type") == "session.start":
            self._session = _id(data.get("sessionId"))
            client = f"github-copilot/{_label(data.get('copilotVersion'))}".rstrip("/")
            yield _at(told), ev.SessionStarted(session=self._session, client=client)
        elif told.get("type") == "session.usage_record" and isinstance(data.get("usage"), dict):
            usage = data["usage"]
            response = _id(usage.get("apiCallId"))
            transport: ev.TransportKind | None = "websocket" if usage.get("transport") == "websocket" else None
            yield (
                _at(told),
                ev.CallReported(
                    session=self._session,
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


class Claude:
    """`projects/*/*.jsonl`. Source: its shape as described in public; the real client was not run. A reply has one line
    per block, each with the usage of the whole: the same call told again. Input does not hold the cached tokens."""

    def __init__(self) -> None:
        self._sessions: set[str] = set()

    def line(self, told: Mapping[str, Any]) -> Iterator[At]:
        message = told.get("message")
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


READERS: dict[str, Callable[[], Reader]] = {"codex": Codex, "copilot": Copilot, "claude": Claude}
PLACES: dict[str, tuple[str, str, str]] = {
    "codex": ("CODEX_HOME", ".codex", "sessions/**/rollout-*.jsonl"),
    "copilot": ("COPILOT_HOME", ".copilot", "session-state/*/events.jsonl"),
    "claude": ("CLAUDE_CONFIG_DIR", ".claude", "projects/*/*.jsonl"),
}
"""Variable of the agent's folder, where it is without it, and its logs in there."""


def _of(event: ev.TurnFinished, session: str, turn: str | None) -> ev.TurnFinished:
    return ev.TurnFinished(
        session=session,
        turn=turn,
        status=event.status,
        duration_ms=event.duration_ms,
        stages_ms={},
        calls=0,
        tools=0,
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
    return value if isinstance(value, str) and len(value) <= 128 and SOURCE_PATTERN.match(value[:64]) else ""


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
