"""An editor in a web page: a text area behind a language client of the npm registry, in Debian's Chromium."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlencode

from playwright.async_api import Page

from tests.support.service.clients import Client, ready, run
from tests.support.web.browser import Watch, chromium

SOURCES = Path(__file__).resolve().parents[2] / "interaction" / "lsp" / "browser"
LSP_BROWSER = Client(
    "lsp-browser",
    "node",
    ("vscode-ws-jsonrpc@3.5.0", "vscode-languageserver-textdocument@1.0.16", "esbuild@0.28.2"),
)


async def bundle(folder: Path) -> Path:
    """The page's script as one file in `folder`, with the packages in it."""
    client = ready(LSP_BROWSER)
    # modules are looked for where the source is
    source = client.folder / "editor.mjs"
    source.write_bytes((SOURCES / "editor.mjs").read_bytes())
    made = folder / "editor.js"
    command = [str(client.binary("esbuild")), str(source), "--bundle", "--format=iife", f"--outfile={made}"]
    code, out, err = await run([*command, "--log-level=warning"], {})
    assert code == 0, f"{out}\n{err}"
    return made


@asynccontextmanager
async def pages(script: Path) -> AsyncIterator[str]:
    """The address of a page with the editor, on this machine."""
    page = (SOURCES / "page.html").read_bytes()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = (await reader.readline()).split()
        while (await reader.readline()).strip():
            pass
        path = asked[1].partition(b"?")[0] if asked else b""  # browsers connect ahead of time, and ask nothing
        known = {b"/": (b"text/html", page), b"/editor.js": (b"text/javascript", script.read_bytes())}
        kind, body = known.get(path, (b"image/x-icon", b""))
        head = b"HTTP/1.1 200 OK\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
        writer.write(head % (kind, len(body)) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


def address(page: str, server: str, token: str, root: Path, file: Path, options: str) -> str:
    """Where the editor opens `file` and connects to `server`. The token is after the `#`: it is sent to no server."""
    facts = {
        "server": server,
        "root": root.as_uri(),
        "file": file.as_uri(),
        "text": file.read_text(),
        "options": options,
    }
    return f"{page}?{urlencode(facts)}#{token}"


@asynccontextmanager
async def browser_page() -> AsyncIterator[tuple[Page, Watch]]:
    """A page of a browser of its own."""
    async with chromium() as browser:
        watch = Watch(await browser.new_context())
        yield await watch.page(), watch
