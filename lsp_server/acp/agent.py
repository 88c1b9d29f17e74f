"""The methods of the protocol, each with its handler."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from agent_core.errors import AuthError, ConfigError, LooplineError, UsageError
from agent_core.runtime.endpoint import EMBEDDED_MODEL
from agent_core.runtime.models import list_models
from agent_core.telemetry.display import one_line, shown
from lsp_server.acp.desk import Desk
from lsp_server.acp.greeting import KEY, Abilities, abilities_of, welcome
from lsp_server.acp.lines import Json
from lsp_server.acp.mcp import tables
from lsp_server.acp.prompts import task_of
from lsp_server.acp.replay import replayed
from lsp_server.acp.sdk import MODELS, Model, Peer, RequestError, parse, schema
from lsp_server.acp.session import AcpSession, Prompted, Terms
from lsp_server.acp.tool_calls import plain
from lsp_server.process import Process
from lsp_server.transcript import page

CLOSE_S = 2.0
"""How long turns of a session that is closed may take to end."""
PAGE = 100
"""Sessions of one answer to `session/list`."""
MAX_REPLAYED = 1_000
"""Entries of a session that is loaded; older ones are left out."""
_STOPS: Mapping[str, str] = {
    "limit_max_calls": "max_turn_requests",
    "limit_max_output_tokens": "max_tokens",
}
_CALLERS = frozenset(
    {"unknown_session", "unknown_choice", "not_taken", "unknown_transport", "other_folder", "usage", "cwd", "cursor",
     "state_missing", "invalid_config", "effort_unsupported"}
)  # fmt: skip
"""Codes of errors that mean the request was wrong."""
Handler = Callable[[Any], Awaitable[Json | None]]


class Agent:
    """Serves one client. Owns what is known of it, and its sessions."""

    def __init__(self, process: Process, read: Callable[[], Awaitable[bytes]], can: Abilities | None = None) -> None:
        """`can` is what the client offers; None: it has not said so yet, by `initialize`."""
        self._process = process
        self.peer = Peer(self.handle, read)
        self.desk = Desk(process, self.peer)
        self._known = can is not None
        self.desk.can = can or Abilities()
        self._handlers: dict[str, Handler] = {
            "authenticate": self._authenticate,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "session/list": self._list,
            "session/close": self._close,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
            "session/prompt": self._prompt,
            "session/cancel": self._cancel,
        }

    async def handle(self, method: str, params: Any, is_notification: bool) -> Json:
        """Raises RequestError. A handler that only queues does so before anything else is handled, so that what comes
        in one order is done in it."""
        first = method == "initialize" and not is_notification
        handler = self._handlers.get(method)
        if not first and (handler is None or is_notification != (method == "session/cancel")):
            raise RequestError.method_not_found(shown(method[:200]))
        if not self._known and not first:
            raise RequestError(-32600, "initialize comes first")
        try:
            if handler is None:
                self.desk.can, self._known = abilities_of(params), True
                return welcome()
            return await handler(parse(MODELS[method], params)) or {}
        except LooplineError as error:
            raise refusal(error) from None

    # The client

    async def _authenticate(self, asked: schema.AuthenticateRequest) -> None:
        """Whether the key that is kept is taken. Raises AuthError, ServiceUnreachable or UsageError."""
        if asked.method_id != KEY:
            raise UsageError(f"there is no way {asked.method_id[:80]!r} to sign in", hint=f"there is {KEY!r}")
        endpoint = self.desk.endpoint()
        if endpoint.base_url is not None:
            await list_models(endpoint.base_url, endpoint.api_key)
        elif endpoint.model != EMBEDDED_MODEL:
            raise AuthError("no key is kept", hint="loopline auth set openai")

    # Sessions

    async def _new(self, asked: schema.NewSessionRequest) -> Json:
        session = await self.desk.new(_terms(asked))
        session.greet()
        return {"sessionId": session.id, **session.choices.described()}

    async def _load(self, asked: schema.LoadSessionRequest) -> Json:
        terms = _terms(asked)
        history = await asyncio.to_thread(self.desk.history, asked.session_id)
        session = await self.desk.find(asked.session_id, terms)
        entries = page(history.items.raw(0), history.turn_of, None, MAX_REPLAYED).entries
        for update in replayed(entries, session.placed):
            session.tell(update)
        session.greet()
        return session.choices.described()

    async def _resume(self, asked: schema.ResumeSessionRequest) -> Json:
        session = await self.desk.find(asked.session_id, _terms(asked))
        session.greet()
        return session.choices.described()

    async def _fork(self, asked: schema.ForkSessionRequest) -> Json:
        session = await self.desk.fork(asked.session_id, _terms(asked))
        session.greet()
        return {"sessionId": session.id, **session.choices.described()}

    async def _list(self, asked: schema.ListSessionsRequest) -> Json:
        start = asked.cursor or "0"
        if not (start.isascii() and start.isdigit() and len(start) < 10):
            raise UsageError("that cursor is none of ours", code="cursor")
        views = await self.desk.listed(asked.cwd)
        shown = views[int(start) : int(start) + PAGE]
        more = int(start) + PAGE < len(views)
        return {
            "sessions": [
                {
                    "sessionId": view.session_id,
                    "cwd": next(iter(view.roots), "/"),
                    "title": one_line(view.title),
                    "updatedAt": view.created,
                    **({"additionalDirectories": list(view.roots[1:])} if view.roots[1:] else {}),
                }
                for view in shown
            ],
            **({"nextCursor": str(int(start) + PAGE)} if more else {}),
        }

    async def _close(self, asked: schema.CloseSessionRequest) -> None:
        await self.desk.close(self.desk.get(asked.session_id), CLOSE_S)

    # Choices

    async def _set_mode(self, asked: schema.SetSessionModeRequest) -> None:
        session = self.desk.get(asked.session_id)
        self._chosen(session, "mode", asked.mode_id)
        session.tell({"sessionUpdate": "config_option_update", "configOptions": session.choices.options()})

    async def _set_option(self, asked: schema.SetSessionConfigOptionSelectRequest) -> Json:
        session = self.desk.get(asked.session_id)
        self._chosen(session, asked.config_id, asked.value)
        if asked.config_id == "mode":
            session.tell({"sessionUpdate": "current_mode_update", "currentModeId": session.choices.mode})
        return {"configOptions": session.choices.options()}

    def _chosen(self, session: AcpSession, option: str, value: str) -> None:
        if session.choices.take(option, value):
            session.host.reconfigure(model=session.choices.model or None)

    # Turns

    async def _prompt(self, asked: schema.PromptRequest) -> Json:
        return answered(await self.desk.get(asked.session_id).prompt(task_of(asked.prompt)))

    async def _cancel(self, asked: schema.CancelNotification) -> None:
        await self.desk.get(asked.session_id).cancel()


def answered(prompted: Prompted) -> Json:
    """Raises RequestError for a turn that failed."""
    ended, figures = prompted.ended, list(map(plain, prompted.figures))
    if ended is None:
        return {"stopReason": "end_turn" if prompted.done else "cancelled"}
    facts = {"turnId": ended.turn_id, "status": ended.status, "durationMs": round(ended.duration_ms, 1)}
    meta = {"loopline": {**facts, "calls": figures}}
    if ended.status == "completed":
        return {"stopReason": "end_turn", "_meta": meta}
    if ended.status == "cancelled":
        return {"stopReason": "cancelled", "_meta": meta}
    if ended.error_code is not None and ended.error_code in _STOPS:
        return {"stopReason": _STOPS[ended.error_code], "_meta": meta}
    code = -32000 if ended.error_code == "auth_refused" else -32603
    words = shown(ended.text) or "the turn failed"
    raise RequestError(code, words, {"code": shown(ended.error_code or "") or None, **facts, "calls": figures})


def refusal(error: LooplineError) -> RequestError:
    """An error of ours in the protocol's numbers."""
    number = -32603
    if isinstance(error, AuthError):
        number = -32000
    elif isinstance(error, ConfigError) or error.code in _CALLERS:
        number = -32602
    facts = {"code": error.code, **({"hint": shown(error.hint)} if error.hint else {})}
    return RequestError(number, shown(error.message), facts)


def _terms(asked: Model) -> Terms:
    """Raises UsageError for a folder that is none."""
    given = [getattr(asked, "cwd", ""), *(getattr(asked, "additional_directories", None) or ())]
    for each in given:
        if "\0" in each or not Path(each).is_absolute() or not Path(each).is_dir():
            raise UsageError(f"{each[:200]!r} is no folder given from the root on", code="cwd")
    return Terms(tuple(map(Path, dict.fromkeys(given))), tables(getattr(asked, "mcp_servers", None), given[0]))
