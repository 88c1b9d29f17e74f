"""Switches that break one rule each, by changing one named seam of the service in this interpreter.

A pytest plugin: `-p tests.interaction.requirements.breaks` with `LOOPLINE_BREAK=<rule>` breaks that rule for the run.
A test that names the rule must then fail; `test_breaks.py` sees to that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from agent_core.protocol import lanes, server_connection, steering
from agent_core.protocol.lanes import Lanes, Limits, Outcome, Relation
from agent_core.protocol.server_connection import ServerConnection, ServerInput, State
from agent_core.protocol.server_inputs import Cancel, Tick
from agent_core.responses_server.admission import guard
from agent_core.responses_server.output.event_builder import EventBuilder, Frame
from agent_core.responses_server.pipeline import respond, sampling, steps
from agent_core.responses_server.pipeline.intake import Intake
from agent_core.responses_server.request import options, toolset, validation
from agent_core.responses_server.screening.credentials import CredentialScreen
from agent_core.responses_server.shells import websocket
from agent_core.responses_server.shells.http import exchange, stored
from agent_core.responses_server.shells.websocket import WebSocketEndpoint
from agent_core.responses_server.state.retention import Retention
from agent_core.responses_server.store import stored_items
from tests.support.service import running as service

VARIABLE = "LOOPLINE_BREAK"
WAIT_S = 4.0
"""Bound of the waits of a broken run; what is waited for may never come."""


def pytest_configure(config: pytest.Config) -> None:
    rule = os.environ.get(VARIABLE)
    if rule:
        BREAKS[rule]()
        _shorten_waits()


def _shorten_waits() -> None:
    service.TIMEOUT_S = WAIT_S
    for method in (service.Socket.read, service.Socket.read_until, service.Socket.finish):
        defaults = method.__kwdefaults__ or {}
        if "timeout_s" in defaults:
            method.__kwdefaults__ = {**defaults, "timeout_s": WAIT_S}
        if method.__defaults__:
            method.__defaults__ = (WAIT_S,)


def _wrap(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Replace an attribute by what `make` makes of it."""
    setattr(owner, name, make(getattr(owner, name)))


def _limits(**changes: int) -> Callable[[], None]:
    return lambda: _wrap(
        Lanes, "__init__", lambda make: lambda self, limits=None: make(self, replace(Limits(), **changes))
    )


def _lifo() -> None:
    def make(create: Any) -> Any:
        def changed(self: Any, ticket: Any) -> None:
            create(self, ticket)
            self._lanes[ticket.lane].queue.rotate(1)

        return changed

    _wrap(Lanes, "create", make)


def _finish(change: Callable[[Any, Outcome], Outcome]) -> Callable[[], None]:
    """`Lanes.finish` with another outcome than the one it is told."""
    return lambda: _wrap(
        Lanes,
        "finish",
        lambda finish: lambda self, ticket, outcome, head=None: finish(self, ticket, change(ticket, outcome), head),
    )


def _failed_fork_evicts() -> None:
    def make(finish: Any) -> Any:
        def changed(self: Any, ticket: Any, outcome: Outcome, head: Any = None) -> Any:
            if ticket.relation is Relation.FORK and outcome is Outcome.FAILED:
                for lane in self._lanes.values():
                    if lane.head is not None and lane.head.response_id == ticket.previous_response_id:
                        lane.head = None
            return finish(self, ticket, outcome, head)

        return changed

    _wrap(Lanes, "finish", make)


def _all_heads_are_kept() -> None:
    kept: dict[str, Any] = {}

    def make(finish: Any) -> Any:
        def changed(self: Any, ticket: Any, outcome: Outcome, head: Any = None) -> Any:
            if head is not None:
                kept[head.response_id] = head
            return finish(self, ticket, outcome, head)

        return changed

    _wrap(Lanes, "finish", make)
    Lanes.head = lambda self, response_id: kept.get(response_id)  # type: ignore[method-assign]


def _settings(**changes: Any) -> Callable[[], None]:
    """What is read of a request, with some of it set to something else."""
    return lambda: _wrap(
        validation, "read_settings", lambda read: lambda create: msgspec.structs.replace(read(create), **changes)
    )


def _numbers_from_one() -> None:
    def make(init: Any) -> Any:
        def changed(self: Any, *args: Any, **options: Any) -> None:
            init(self, *args, **options)
            self._sequence = 1

        return changed

    _wrap(EventBuilder, "__init__", make)


def _no_stream_ids() -> None:
    _wrap(
        EventBuilder,
        "__init__",
        lambda init: lambda self, response, stream_id, *rest, **options: init(self, response, None, *rest, **options),
    )


def _frames(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[], None]:
    """Lifecycle frames with their event changed."""

    def make(lifecycle: Any) -> Any:
        def changed(self: Any, kind: Any) -> Frame:
            frame = lifecycle(self, kind)
            return Frame(frame.type, msgspec.json.encode(change(msgspec.json.decode(frame.data))))

        return changed

    return lambda: _wrap(EventBuilder, "_lifecycle", make)


def _without(key: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(event: dict[str, Any]) -> dict[str, Any]:
        event["response"].pop(key, None)
        return event

    return change


def _reversed_output(event: dict[str, Any]) -> dict[str, Any]:
    event["response"]["output"].reverse()
    return event


def _error_and_failed() -> None:
    def make(failed: Any) -> Any:
        async def changed(self: Any, error: Any) -> None:
            if self._call.ladder is not None:
                data = msgspec.json.encode(
                    {"type": "error", "status": 500, "error": {"type": "server_error", "code": "x", "message": "x"}}
                )
                await self._sink.send([Frame("error", data)])
            await failed(self, error)

        return changed

    _wrap(respond._Run, "failed", make)


def _table(state: State, given: type[ServerInput]) -> Callable[[], None]:
    """The connection machine, passing over an input."""
    return lambda: server_connection.TABLE.__setitem__((state, given), ServerConnection._ignore)


def _halves() -> None:
    def make(write: Any) -> Any:
        async def changed(self: Any, chunks: Any, *, last: bool = False) -> None:
            halves = [part for chunk in chunks for part in (chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :])]
            await write(self, halves, last=last)

        return changed

    _wrap(exchange._Exchange, "_write", make)


def _upgrade_says_404() -> None:
    def make(call: Any) -> Any:
        async def changed(self: Any, scope: Any, receive: Any, send: Any) -> None:
            async def sent(message: Any) -> None:
                await send({**message, "status": 404} if "status" in message else message)

            await call(self, scope, receive, sent)

        return changed

    _wrap(WebSocketEndpoint, "__call__", make)


def _anyones_records() -> None:
    async def anyones(store: Any, response_id: str, owner: str) -> Any:
        return await store.get(response_id)

    for module in (stored, stored_items):
        module.read_record = anyones  # type: ignore[attr-defined]


async def _nothing(*_: Any) -> None:
    """In the place of a step that is left out."""


BREAKS: dict[str, Callable[[], None]] = {
    "ws.auth": lambda: setattr(guard.Guard, "key_name", lambda self, header: "anyone"),
    "ws.host": lambda: setattr(guard.Guard, "host_allowed", lambda self, header: True),
    "ws.off": _upgrade_says_404,
    "ws.binary": lambda: setattr(websocket._Connection, "_bad_frame", lambda self, error: []),
    "ws.size": lambda: setattr(websocket, "MAX_FRAME_BYTES", 2**40),
    "ws.keepalive": lambda: setattr(ServerConnection, "_keepalives", lambda self, now_s: []),
    "ws.lifetime": _table(State.OPEN, Tick),
    "lanes.fifo": _lifo,
    "lanes.in_flight": _limits(in_flight=17),
    "lanes.names": _limits(named_lanes=33),
    "lanes.stream_id": lambda: setattr(lanes, "STREAM_ID", re.compile("(?s).*")),
    "lanes.echo": _no_stream_ids,
    "events.sequence": _numbers_from_one,
    "events.required_keys": _frames(_without("safety_identifier")),
    "events.output": _frames(_reversed_output),
    "events.usage": lambda: _wrap(
        respond, "usage_of", lambda count: lambda finish, **given: count(finish, **{**given, "reused": 0})
    ),
    "errors.form": lambda: _wrap(
        websocket, "refusal_data", lambda make: lambda *args: make(*args).replace(b'"status":', b'"state":')
    ),
    "errors.before_and_after": _error_and_failed,
    "chain.evict": _finish(lambda ticket, outcome: Outcome.CANCELLED if outcome is Outcome.FAILED else outcome),
    "chain.fork": _failed_fork_evicts,
    "chain.latest": _all_heads_are_kept,
    "chain.store": _settings(store=False),
    "chain.warm_up": _settings(generate=True),
    "cancel.running": _table(State.OPEN, Cancel),
    "cancel.parent": _finish(lambda ticket, outcome: Outcome.FAILED if outcome is Outcome.CANCELLED else outcome),
    "steer.successor": lambda: steering.DISPOSITIONS.__setitem__(
        steering.Ending.FREE, (steering.Disposition.RETURN, "successor_creation_failed")
    ),
    "steer.pending": lambda: steering.DISPOSITIONS.__setitem__(
        steering.Ending.OWED, (steering.Disposition.SUCCEED, None)
    ),
    "steer.refused": lambda: steering.VERDICTS.__setitem__(steering.Target.NOT_STEERABLE, "response_not_found"),
    "compaction.trigger": lambda: setattr(steps, "compaction_for", lambda checked, prompt, window: None),
    "compaction.continue": lambda: setattr(steps, "effective", lambda items: items),
    "settings.refused": lambda: setattr(options, "_UNSERVED", ()),
    "settings.truncation": _settings(truncate=False),
    "tools.limits": lambda: setattr(sampling.CallGuard, "admits", lambda self, delta: True),
    "tools.choice": lambda: setattr(sampling.CallGuard, "check_end", lambda self, finish: None),
    "items.outputs": lambda: setattr(validation, "_check_outputs", lambda items, context: iter(())),
    "http.chunk": _halves,
    "state.bounded": lambda: setattr(Retention, "trim", lambda self: None),
    "state.age": lambda: setattr(Retention, "_watch", lambda self, now_s: None),
    "tools.known": lambda: _wrap(toolset, "tools_digest", lambda digest: lambda raw: os.urandom(16)),
    "screen.flag": lambda: setattr(CredentialScreen, "find", lambda self, text: None),
    "screen.before_output": lambda: setattr(Intake, "judged", _nothing),
    "screen.said": lambda: setattr(Intake, "screen_more", _nothing),
    "rollout.goes_on": lambda: setattr(respond._Run, "_waited", _nothing),
    "rollout.off": lambda: setattr(websocket, "wants_rollout", lambda headers: True),
    "rollout.ends": lambda: setattr(validation, "_check_outputs", lambda items, context: iter(())),
    "http.owner": _anyones_records,
}
"""Rule to switch."""
