"""A recorded feed: three windows of an afternoon as the product would tell it, with what goes well and what does not.

Everything is made by hand-moved clocks, so it is the same on every run; `now_after` is when a dashboard looks at it.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from agent_core.clock import rfc3339
from agent_core.telemetry import events as ev
from agent_core.telemetry.rollup.axis import parse_time_ns
from tests.support.telemetry.scene import HandClock, Scene

SECOND = 1000.0
MINUTE = 60 * SECOND
HOSTILE = "[/foo] [@click=app.quit]x[/] \x1b[31mred\x1b]0;t\x07 \x9b5m\u202e"
"""Text as a model or a file could bring it: markup, an action link, escape sequences, a direction mark."""


class SteppingClock(HandClock):
    """A clock whose sleeps are over at once, after everything else had its turn."""

    async def sleep(self, delay_s: float) -> None:
        await super().sleep(delay_s)
        await asyncio.sleep(0)


class WindowScene(Scene):
    """One process with one session; turns of several calls on one socket."""

    def __init__(self, source: str, session: str, project: str | None, client: str, start_ms: float) -> None:
        super().__init__(source=source, session=session)
        self.connection: str | None = f"conn_{session[-1]}1"
        self.model = "gpt-5.5"
        self._context, self._bytes_full, self._uploads = 0, 9_800, 0
        self.wait(start_ms)
        self.emit(ev.SessionStarted(client=client, roots=1, project=project, session=session))

    def ids(self, call: str) -> dict[str, Any]:
        return {"session": self.session, "turn": self.turn or None, "call": call, "connection": self.connection}

    def connect(self, cause: str | None = None, handshake_ms: float = 38.4) -> None:
        self.wait(handshake_ms)
        self.emit(
            ev.ConnectionOpened(
                session=self.session, connection=self.connection, handshake_ms=handshake_ms, cause=cause
            )
        )

    def warm_up(self) -> None:
        """The context goes up ahead of the first message; its usage answers nobody."""
        call = self.send(reuse="first", warmup=True, bytes_up=9_800, bytes_full=9_800, input_items=2, model=self.model)
        self.wait(120)
        self.complete(call, 120.0, input_tokens=2_100, cached_tokens=0, output_tokens=0, deltas=0)
        self.emit(ev.ConnectionPrewarmed(session=self.session, connection=self.connection))
        self._context = 2_100

    def model_call(
        self, *, new: int, out: int, ttft_ms: float, decode_ms: float, reuse: ev.Reuse = "reused", **told: Any
    ) -> str:
        """A call that adds `new` input tokens and answers with `out`."""
        call = self.begin_call(new=new, reuse=reuse)
        self.wait(ttft_ms)
        reasoning = told.pop("reasoning_tokens", 0)
        self.delta(call, ttft_ms, "reasoning" if reasoning else "text", ttft_ms * 1.6)
        for _ in range(int(decode_ms // 250)):
            self.wait(250)
        self.wait(decode_ms % 250)
        self.end_call(call, out=out, ttft_ms=ttft_ms, decode_ms=decode_ms, reasoning_tokens=reasoning, **told)
        return call

    def begin_call(self, *, new: int, reuse: ev.Reuse = "reused", attempt: int = 1, call: str | None = None) -> str:
        size = new * 4 + 260
        if attempt == 1:
            self._bytes_full += size - 200 if self._context else 0
            self._context += new
        up = size if reuse == "reused" else self._bytes_full
        return self.send(
            call, reuse=reuse, attempt=attempt, bytes_up=up, bytes_full=self._bytes_full, input_items=2,
            model=self.model,
        )  # fmt: skip

    def end_call(self, call: str, *, out: int, ttft_ms: float, decode_ms: float, **told: Any) -> None:
        told.setdefault("cached_tokens", max(0, (self._context - 300) // 128 * 128))
        fields = {
            "ttft_ms": ttft_ms, "visible_ttft_ms": ttft_ms * 1.6, "input_tokens": self._context,
            "output_tokens": out, "deltas": max(2, out // 2), "bytes_down": out * 210, "finish_reason": "stop",
            "chunk_gaps": {23: out // 3, 29: out // 8, 42: 1},
        }  # fmt: skip
        self.complete(call, ttft_ms + decode_ms, decode_ms + ttft_ms * 0.55, **{**fields, **told})
        self._context += out
        self._bytes_full += out * 4

    def run_tool(self, name: str, ms: float, status: Any = "ok", output_bytes: int = 1_840) -> None:
        tool_call = self.start_tool(name)
        self.wait(ms)
        self.end_tool(tool_call, name, ms, status, output_bytes)

    def end_tool(self, tool_call: str, name: str, ms: float, status: Any = "ok", output_bytes: int = 1_840) -> None:
        self.emit(
            ev.ToolFinished(
                session=self.session, turn=self.turn, tool_call=tool_call, name=name, status=status,
                duration_ms=ms, output_bytes=output_bytes,
            )
        )  # fmt: skip
        self.stages.tool_ended(tool_call, self.clock.mono_ns())

    def progress(self, call: str, tokens: int, rate: float) -> None:
        self.emit(ev.CallProgress(**self.ids(call), output_tokens_est=tokens, rate_est=rate))


def recorded_feed() -> list[ev.Event]:
    """The whole feed in the order in which a reader sees it; the last turn still runs."""
    editor, terminal, http = _editor(), _terminal(), _without_socket()
    events = [*editor.events, *terminal.events, *http.events]
    return sorted(events, key=lambda event: (event.time, event.source, event.seq))


def _editor() -> WindowScene:
    """A window of an editor: a rename, then a bug fix that asks for an approval and still runs."""
    window = WindowScene("h3fa29c-4711-9c2e1d", "sess_editor_a", "inventory", "vscode", 2 * MINUTE)
    window.connect()
    window.warm_up()
    window.wait(20 * SECOND)
    window.start_turn("turn_rename")
    window.wait(14)
    for step in range(11):
        window.model_call(new=180 + 35 * step, out=58 + step * 9, ttft_ms=88 + step * 2, decode_ms=70 + 11 * step)
        window.wait(6)
        if step == 3:
            together = [window.start_tool(name) for name in ("read", "read", "search")]
            window.wait(40)
            window.end_tool(together[0], "read", 40)
            window.wait(25)
            window.end_tool(together[2], "search", 65)
            window.wait(30)
            window.end_tool(together[1], "read", 95)
        elif step < 10:
            name = ("list", "search", "read", "read", "edit", "edit", "checks", "edit", "checks", "read")[step]
            window.run_tool(name, 640 if name == "checks" else 18 + step)
        window.wait(4)
    window.finish_turn()
    window.wait(7 * MINUTE + 12 * SECOND)
    _fix_dates(window)
    return window


def _fix_dates(window: WindowScene) -> None:
    window.start_turn("turn_dates")
    window.wait(22)
    window.model_call(new=410, out=121, ttft_ms=142, decode_ms=520, reasoning_tokens=64)
    window.wait(9)
    window.run_tool("search", 44)
    window.model_call(new=890, out=96, ttft_ms=104, decode_ms=310)
    window.wait(8)
    reading, searching = window.start_tool("read"), window.start_tool("search")
    window.wait(38)
    window.end_tool(reading, "read", 38)
    window.wait(61)
    window.end_tool(searching, "search", 99)
    window.model_call(new=2_240, out=210, ttft_ms=131, decode_ms=640)
    window.wait(11)
    window.run_tool("edit", 27)
    window.model_call(new=140, out=60, ttft_ms=92, decode_ms=170)
    window.open_approval("appr_pytest")
    window.wait(1_900)
    window.resolve_approval("appr_pytest", 1_900)
    window.run_tool("shell", 1_480, "error")
    call = window.begin_call(new=760)
    window.wait(46)
    again = window.begin_call(new=0, reuse="not_found", attempt=2, call=call)
    window.wait(168)
    window.delta(again, 168, "text")
    window.wait(410)
    window.end_call(again, out=148, ttft_ms=168, decode_ms=410)
    window.wait(10)
    window.run_tool("edit", 31)
    call = window.begin_call(new=120)
    window.wait(90)
    window.delta(call, 90, "text")
    for step in range(1, 4):
        window.wait(250)
        window.progress(call, step * 203, 812.0)
    window.wait(120)
    window.end_call(call, out=402, ttft_ms=90, decode_ms=870)
    window.wait(7)
    window.open_approval("appr_push")
    window.wait(600)


def _terminal() -> WindowScene:
    """A terminal: a rate limit, then a socket that is lost and renewed, then one that is rotated."""
    window = WindowScene("h3fa29c-5120-aa07b2", "sess_cli_b", "docs", "cli", 3 * MINUTE)
    window.model = "gpt-5.4-mini"
    window.connect(handshake_ms=51.2)
    window.start_turn("turn_cache")
    window.wait(18)
    call = window.begin_call(new=3_100, reuse="first")
    window.wait(64)
    window.complete(call, 64.0, status="failed", error_code="rate_limit_exceeded", deltas=0)
    window.wait(3)
    window.finish_turn("failed")
    window.wait(45 * SECOND)
    window.start_turn("turn_explain")
    window.wait(15)
    window.model_call(new=40, out=322, ttft_ms=210, decode_ms=1_450, reuse="full_resend")
    window.wait(12)
    window.run_tool("read", 9)
    old = window.connection
    window.emit(ev.ConnectionClosed(session=window.session, connection=old, age_s=48.2, cause="connection_lost"))
    window.connection = "conn_b2"
    window.connect("connection_lost", 61.7)
    window.emit(
        ev.ConnectionReconnected(
            session=window.session, connection="conn_b2", handshake_ms=61.7, cause="connection_lost"
        )
    )
    window.model_call(new=700, out=260, ttft_ms=240, decode_ms=1_120, reuse="reconnected")
    window.finish_turn()
    window.wait(95 * SECOND)
    window.start_turn("turn_guide")
    window.wait(11)
    window.model_call(new=300, out=180, ttft_ms=131, decode_ms=900)
    window.run_tool("edit", 22)
    call = window.begin_call(new=210)
    window.wait(400)
    window.complete(call, 400.0, status="cancelled", deltas=0)
    window.finish_turn("cancelled")
    return window


def _without_socket() -> WindowScene:
    """Behind a proxy that lets no socket through: everything goes by HTTP; the provider reports no cached tokens."""
    window = WindowScene("h3fa29c-6001-0c11d5", "sess_http_c", None, "cli", 6 * MINUTE)
    window.model, window.connection = "local-coder", None
    window.emit(ev.ConnectionFallback(session=window.session, cause="handshake_refused"))
    window.start_turn("turn_proxy")
    window.wait(10)
    for step in range(3):
        call = window.send(
            transport="http", reuse="first" if step == 0 else "full_resend", bytes_up=11_000 + 2_600 * step,
            bytes_full=11_000 + 2_600 * step, input_items=4 + 2 * step, model=window.model,
        )  # fmt: skip
        window.wait(310)
        window.delta(call, 310)
        window.wait(700)
        window.complete(
            call, 1_010.0, 700.0, ttft_ms=310.0, input_tokens=2_600 + 640 * step, output_tokens=88, deltas=44,
            bytes_down=18_000,
        )  # fmt: skip
        window.run_tool("read", 12)
    window.finish_turn()
    return window


def restamped(events: list[ev.Event], end_ns: int) -> list[ev.Event]:
    """The same events, the last of them at `end_ns` on the wall clock."""
    shift_ns = end_ns - parse_time_ns(events[-1].time)
    return [msgspec.structs.replace(event, time=rfc3339(parse_time_ns(event.time) + shift_ns)) for event in events]


def now_after(events: list[ev.Event]) -> int:
    """A moment after the last event, on the wall axis."""
    return parse_time_ns(events[-1].time) + 850_000_000
