"""The browser dashboard: `loopline web` as a child of this process, its one-time link opened by the editor."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import msgspec
from lsprotocol import types as lsp

from agent_core import launch
from agent_core.ready_file import wait_ready
from lsp_server.editor import Editor
from lsp_server.protocol.methods import Dashboard, Nothing
from lsp_server.rpc.routes import Routes

START_S = 30.0


class _Ready(msgspec.Struct):
    url: str
    link: str = ""


def register(editor: Editor, routes: Routes) -> None:
    async def opened(asked: Nothing, token: int | str | None) -> Dashboard:
        editor.spawn(show(), "dashboard")
        return Dashboard(state="starting")

    async def show() -> None:
        ready = await _start(editor)
        if ready is None:
            editor.client.message(
                lsp.MessageType.Error, "Loopline: the dashboard did not start; `loopline web` in a terminal says why."
            )
        elif not await editor.client.show(ready.link or ready.url, external=True):
            editor.client.message(lsp.MessageType.Info, f"Loopline's dashboard: {ready.link or ready.url}")

    routes.on_command("loopline.dashboard.open", Nothing, opened)


async def _start(editor: Editor) -> _Ready | None:
    """Start it, and wait until it listens; None if it does not."""
    folder = Path(tempfile.mkdtemp(prefix="web-", dir=editor.process.folder))
    ready_file = folder / "ready.json"
    child = await launch.start(
        launch.own_module("agent_core", "web", "--port", "0", "--ready-file", str(ready_file)),
        environment=launch.own_environment(editor.process.env, "LOOPLINE_OIDC_SECRET"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    editor.process.children.append(child)
    listening = await wait_ready(child, ready_file, START_S)
    return None if listening is None else msgspec.json.decode(listening, type=_Ready)
