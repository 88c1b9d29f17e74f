"""One editor as the front end that sessions work for: its user is asked, its buffers and findings count."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from agent_core.tools.editor.diagnostics import Diagnostic
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.question import Question
from lsp_server.asker import Asker
from lsp_server.documents.buffers import Buffers


class EditorFrontEnd:
    """Implements `agent_core.hosting.port.FrontEnd`. `find` gives what the editor's tools say of a file, or of all."""

    name = "lsp"

    def __init__(self, asker: Callable[[], Asker], buffers: Callable[[], Buffers]) -> None:
        self._asker, self._buffers = asker, buffers  # both are there once the client has said what it can do
        self.find: Callable[[str | None], Sequence[Diagnostic]] = lambda path: ()

    @property
    def documents(self) -> Buffers:
        return self._buffers()

    async def ask(self, approval: Approval) -> Decision:
        return await self._asker()(approval)

    @property
    def answers(self) -> bool:
        return self._asker().answers

    async def put(self, question: Question) -> str | None:
        """The editor's plugin shows it, and answers by command."""
        await asyncio.get_running_loop().create_future()
        raise AssertionError("never set")

    async def diagnostics(self, path: str | None) -> Sequence[Diagnostic]:
        return self.find(path)
