"""What belongs to one editor: its documents, settings, sessions and events, and the tasks that work for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp

from agent_core.errors import ConfigError
from lsp_server.asker import Asker
from lsp_server.bus import Bus
from lsp_server.client import Client
from lsp_server.documents.buffers import Buffers
from lsp_server.documents.documents import Change, Documents, Encoding, Position, path_of
from lsp_server.front_end import EditorFrontEnd
from lsp_server.models import ModelBook
from lsp_server.process import Process
from lsp_server.protocol.methods import announcement
from lsp_server.rpc.protocol_fixes import FixedProtocol
from lsp_server.sessions import Desk
from lsp_server.settings import EditorSettings, resolve
from lsp_server.stream import EventStream

log = logging.getLogger(__name__)

STOP_S = 0.7
"""How long running turns may take to end at shutdown."""


class Editor:
    """All that features know. Everything here runs on one event loop; the life of the client is told by `protocol`."""

    client: Client
    documents: Documents
    buffers: Buffers
    asker: Asker

    def __init__(self, process: Process, protocol: FixedProtocol) -> None:
        self.process, self._protocol = process, protocol
        self.bus = Bus()
        self.settings = EditorSettings()
        self.roots: tuple[Path, ...] = ()
        self.events = EventStream(self._send_event, lambda: not protocol.outbox.backlogged)
        self.connection_state = "none"
        self.label = "Loopline"
        self.model_selected: str | None = None
        self.turn_of_token: dict[int | str, str] = {}
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.front_end = EditorFrontEnd(lambda: self.asker, lambda: self.buffers)
        self.desk = Desk(self)
        self.models = ModelBook(self.desk.endpoint, process.manager.service)
        self._folders_changed = asyncio.Event()
        self._options: Any = None
        self._tasks: set[asyncio.Task[None]] = set()

    # For features

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """A task that ends with this client at the latest."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s failed with %s", task.get_name(), type(error).__name__, exc_info=error)

    def connection_changed(self, state: str) -> None:
        self.connection_state = state
        self.bus.configured()

    def trusts(self, path: str | None) -> bool:
        """Whether a file lies in a folder that its user trusts; while the settings can't be read nothing is trusted."""
        try:
            trusted = self.desk.flags()["trusted"] if self.roots else ()
        except ConfigError:
            return False
        return path is not None and any(path.startswith(f"{folder}/") for folder in trusted)

    async def wait_for_folders(self) -> None:
        """Until other folders are open than now."""
        changed = self._folders_changed
        await changed.wait()

    def is_over(self, turn: str) -> bool:
        """Whether a turn that some session knows has ended."""
        found = [session.turn(turn) for session in self.desk.sessions.values()]
        return any(known is not None and known.is_over for known in found)

    # The life of a client, called by the protocol

    def negotiate(self, params: lsp.InitializeParams, result: lsp.InitializeResult) -> None:
        self.client = Client(self._protocol, params.capabilities)
        encoding: Encoding = "utf-16"
        if result.capabilities.position_encoding in ("utf-8", "utf-32"):
            encoding = "utf-8" if result.capabilities.position_encoding == "utf-8" else "utf-32"
        self.documents = Documents(encoding)
        self._set_roots(_folder_uris(params))
        self.buffers = Buffers(
            self.client, self.documents, lambda: self.roots, lambda: self.label, self.bus.edited, self.spawn
        )
        self.asker = Asker(self.client)
        self._options = params.initialization_options
        self.events.enabled = self.client.ours.get("events") is not False
        self.configure(None)
        result.capabilities.experimental = {"loopline": announcement()}
        if not self.client.completes_inline:
            result.capabilities.inline_completion_provider = None
        self.bus.negotiated()

    def start(self) -> None:
        """The client is ready for requests."""
        self.spawn(self.pull_settings(), "settings")
        self.bus.started()

    async def pull_settings(self) -> None:
        """Ask the editor for its settings, and let them hold."""
        self.configure(await self.client.configuration("loopline"))

    def configure(self, pulled: Any) -> None:
        before = self.settings
        self.settings = resolve(
            self._options, pulled, self.process.env, users_own=self.client.ours.get("userSettings") is True
        )
        for problem in self.settings.problems:
            if problem not in before.problems:
                self.client.message(lsp.MessageType.Warning, f"Loopline: {problem}")
        if self.settings != before:
            self.settings_changed()

    def settings_changed(self) -> None:
        """Sessions take over what changed before their next turn."""
        for session in self.desk.owned():
            session.reconfigure()
        self.bus.configured()

    def folders_changed(self, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        gone = {path_of(folder.uri) for folder in params.event.removed or ()}
        kept = [
            str(root) for root in self.roots if str(root) not in {str(Path(path).resolve()) for path in gone if path}
        ]
        self._set_roots([*kept, *(folder.uri for folder in params.event.added)])
        self._folders_changed.set()
        self._folders_changed = asyncio.Event()
        for session in self.desk.owned():
            session.reconfigure(roots=self.roots)
            if not self.roots:
                self.spawn(session.cancel_all(), "cancel without folders")
        self.spawn(self.pull_settings(), "settings")

    async def shut_down(self) -> None:
        """End what this client started; turns get `STOP_S` seconds."""
        self.events.flush()
        stopping = [asyncio.ensure_future(session.cancel_all()) for session in self.desk.owned()]
        if stopping:
            await asyncio.wait(stopping, timeout=STOP_S)
        self.events.flush()

    def exit(self, code: int) -> None:
        if not self.exited.done():
            self.exited.set_result(code)

    def gone(self) -> None:
        """The connection is over."""
        self._protocol.abandon()
        self.desk.leave()
        for task in self._tasks:
            task.cancel()

    # Documents, called by the protocol

    def did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        document = self.documents.open(item.uri, str(item.language_id), item.version, item.text)
        self.buffers.opened_now(document)
        self.bus.opened(document)

    def did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        changes = [_change(change) for change in params.content_changes]
        self.documents.change(params.text_document.uri, params.text_document.version, changes)

    def did_save(self, params: lsp.DidSaveTextDocumentParams) -> None:
        document = self.documents.get(params.text_document.uri)
        if document is not None:
            self.buffers.saved_now(document)
            self.bus.saved(document)

    def did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        document = self.documents.close(params.text_document.uri)
        if document is not None:
            self.buffers.closed_now(document)
            self.bus.closed(document)

    def progress_cancelled(self, token: int | str) -> None:
        self.bus.progress_cancelled(token)

    def _send_event(self, body: bytes) -> bool:
        return self._protocol.send(body, droppable=True)

    def _set_roots(self, given: Sequence[str]) -> None:
        """`given` are URIs or paths; those that are no folder are left out."""
        paths = [path_of(one) if "://" in one else one for one in given]
        roots = [Path(path).resolve() for path in paths if path is not None]
        self.roots = tuple(dict.fromkeys(root for root in roots if root.is_dir()))


def _folder_uris(params: lsp.InitializeParams) -> list[str]:
    if params.workspace_folders:
        return [folder.uri for folder in params.workspace_folders]
    if params.root_uri:
        return [params.root_uri]
    return [params.root_path] if params.root_path else []


def _change(change: lsp.TextDocumentContentChangeEvent) -> Change:
    if isinstance(change, lsp.TextDocumentContentChangePartial):
        start, end = change.range.start, change.range.end
        return Change(change.text, Position(start.line, start.character), Position(end.line, end.character))
    return Change(change.text)
