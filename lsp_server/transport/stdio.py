"""Serving one client over this process's standard input and output."""

from __future__ import annotations

from lsp_server.process import Process
from lsp_server.transport.connection import serve_stream
from lsp_server.transport.pipes import Pipes


async def serve_stdio(process: Process) -> int | None:
    """Until the client exits, with the exit code, or goes (None)."""
    pipes = Pipes()
    return await serve_stream(process, pipes.read, pipes.write, alien_ends=False)
