"""`loopline sessions`: what lies in the archive."""

from __future__ import annotations

import msgspec

from agent_core.agent.archive import Archive, Entry
from agent_core.agent.calls import calls_of, text_of
from agent_core.cli.console import make_console, make_table
from agent_core.cli.jsonl import JsonLines
from agent_core.clock import SystemClock, rfc3339
from agent_core.config.paths import state_dir
from agent_core.telemetry.display import UNKNOWN, clean, one_line
from agent_core.variables import variables


def list_sessions(*, json: bool) -> None:
    entries = _archive().entries()
    if json:
        lines = JsonLines()
        for entry in entries:
            lines.write(entry)
        return
    console = make_console()
    if not entries:
        console.print('No sessions yet. Start one: loopline run "make the failing tests pass"')
        return
    table = make_table()
    for name in ("session", "created", "model", "turns", "last turn", "title"):
        table.add_column(name, justify="right" if name == "turns" else "left", no_wrap=True)
    for entry in entries:
        table.add_row(
            entry.id,
            entry.created[:16].replace("T", " ") or UNKNOWN,
            entry.model or UNKNOWN,
            str(entry.turns),
            _state(entry),
            one_line(entry.title or entry.problem, 60),
        )
    console.print(table)


def show_session(session: str) -> None:
    history = _archive().load(session)
    console = make_console()
    for note in history.told():
        console.print(f"! {clean(note)}", soft_wrap=True)
    for raw in history.items.raw(0):
        item = msgspec.json.decode(raw)
        kind = item.get("type", "")
        if kind == "message" and item.get("role") != "assistant":
            parts = item.get("content")
            text = parts if isinstance(parts, str) else "".join(part.get("text", "") for part in parts or ())
            console.print(f"▸ {item.get('role')}: {clean(text)}", soft_wrap=True)
        elif kind == "message":
            console.print(clean(text_of([raw])), soft_wrap=True)
        elif calls := calls_of([raw]):
            console.print(f"● {one_line(calls[0].name, 60)} {one_line(calls[0].arguments, 100)}")


def rename_session(session: str, title: str) -> None:
    _archive().rename(session, title)


def fork_session(session: str) -> None:
    make_console().print(_archive().fork(session, rfc3339(SystemClock().wall_ns())))


def delete_session(session: str) -> None:
    _archive().delete(session)


def _archive() -> Archive:
    return Archive(state_dir(variables()) / "sessions")


def _state(entry: Entry) -> str:
    if entry.problem:
        return "damaged"
    if entry.damaged:
        return f"{entry.status or UNKNOWN}, {entry.damaged} damaged line{'s' if entry.damaged > 1 else ''} left out"
    return f"{entry.status or UNKNOWN}{f' (process {entry.host_pid})' if entry.host_pid else ''}"
