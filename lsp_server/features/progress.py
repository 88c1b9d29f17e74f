"""`$/progress` of each turn, with cancel. Reports at most ten a second; the end comes within a second of any cancel."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from lsprotocol import types as lsp

from agent_core.turns import events as up
from agent_core.turns.views import TurnView
from lsp_server.editor import Editor
from lsp_server.rpc.routes import Routes

REPORT_S = 0.1
END_AFTER_CANCEL_S = 0.8
_SHOWN = 80


class Bar:
    """The progress of one turn under one token."""

    def __init__(self, editor: Editor, turn: str, title: str, token: int | str | None) -> None:
        self._editor, self._title = editor, title
        self._given = token is not None
        self.token = token if token is not None else f"loopline-{turn}"
        self._begun = self._ended = False
        self._message = ""
        self._timer: asyncio.TimerHandle | None = None
        self._next_s = 0.0

    def open(self) -> None:
        if self._given:
            self._begin()
        elif self._editor.client.progress:
            self._editor.spawn(self._create(), "progress")
        else:
            self._ended = True

    def report(self, message: str) -> None:
        self._message = message
        if self._begun and not self._ended and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(self._next_s, loop.time()), self._flush)

    def end(self, message: str) -> None:
        """Once; later ends are no harm."""
        if self._ended:
            return
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
        if self._begun:
            self._editor.client.tell_progress(self.token, lsp.WorkDoneProgressEnd(message=message))

    async def _create(self) -> None:
        if await self._editor.client.create_progress(str(self.token)) and not self._ended:
            self._begin()

    def _begin(self) -> None:
        self._begun = True
        value = lsp.WorkDoneProgressBegin(title=f"Loopline: {self._title[:_SHOWN]}", cancellable=True)
        self._editor.client.tell_progress(self.token, value)

    def _flush(self) -> None:
        self._timer, self._next_s = None, asyncio.get_running_loop().time() + REPORT_S
        if not self._ended:
            report = lsp.WorkDoneProgressReport(message=self._message, cancellable=True)
            self._editor.client.tell_progress(self.token, report)


def register(editor: Editor, routes: Routes) -> None:
    bars: dict[str, Bar] = {}

    def begin(turn: str, title: str, token: int | str | None) -> None:
        bar = bars[turn] = Bar(editor, turn, title, token)
        editor.turn_of_token[bar.token] = turn
        bar.open()

    def asked(session: str, turn: TurnView, token: int | str | None) -> None:
        begin(turn.turn_id, turn.title, token)

    def end(turn: str, message: str) -> None:
        bar = bars.pop(turn, None)
        if bar is not None:
            editor.turn_of_token.pop(bar.token, None)
            bar.end(message)

    def cancelled(turn: str) -> None:
        if turn in bars:
            bars[turn].report("stopping")
            asyncio.get_running_loop().call_later(END_AFTER_CANCEL_S, end, turn, "cancelled")

    def updated(session: str, event: up.TurnEvent) -> None:
        match event:
            case up.TurnBegan(turn_id=turn, title=title) if turn not in bars and not editor.is_over(turn):
                begin(turn, title, None)
            case up.TurnEnded(turn_id=turn, status=status):
                end(turn, status)
            case _:
                turn = getattr(event, "turn_id", "")
                message = _message(event)
                if message and turn in bars:
                    bars[turn].report(message)

    editor.bus.asked.add(asked)
    editor.bus.cancelled.add(cancelled)
    editor.bus.updated.add(updated)


def _message(event: up.TurnEvent) -> str:
    match event:
        case up.ReasoningDelta():
            return "thinking"
        case up.TextDelta():
            return "writing"
        case up.ToolBegan(name=name, arguments=arguments):
            return f"{name} {_subject(arguments)}"[:_SHOWN]
        case up.ToolOutput(line=line):
            return line[:_SHOWN]
        case up.ToolEnded(name=name, summary=summary):
            return f"{name}: {summary}"[:_SHOWN]
        case up.QuestionAsked(question=question):
            return f"asks you: {question}"[:_SHOWN]
        case up.ApprovalAsked(approval=approval):
            return f"waits for approval: {approval.subject}"[:_SHOWN]
    return ""


def _subject(arguments: str) -> str:
    try:
        value: Any = json.loads(arguments)
    except ValueError:
        return ""
    found = [value.get(key) for key in ("command", "pattern", "target", "path")] if isinstance(value, dict) else []
    return next((str(one) for one in found if one), "")
