"""The pygls server of one client: it hands the life of LSP to the editor, and binds the features."""

from __future__ import annotations

import logging
from typing import Any

from pygls.lsp.server import LanguageServer

from agent_core import __version__
from lsp_server import features
from lsp_server.editor import Editor
from lsp_server.process import Process
from lsp_server.rpc.protocol_fixes import FixedProtocol, make_converter
from lsp_server.rpc.routes import Routes

log = logging.getLogger(__name__)


class LoopServer(LanguageServer):
    """Owns the `editor`."""

    protocol: FixedProtocol

    def __init__(self, process: Process) -> None:
        super().__init__(
            "loopline", __version__, protocol_cls=FixedProtocol, converter_factory=make_converter, max_workers=1
        )
        self.editor = Editor(process, self.protocol)
        self.protocol.life = self.editor
        features.register_all(self.editor, Routes(self))

    def report_server_error(self, error: Exception, source: Any) -> None:
        log.error("the protocol reports %s", type(error).__name__)
