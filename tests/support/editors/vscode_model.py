"""The puppet of the language server's tests with a voice: it streams in small pieces and stops where a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from tests.support.lsp.puppet import Json, Puppet
from tests.support.model import events as ev
from tests.support.model.scripted_service import Gone, Peer

PIECE = 12
PAUSE_S = 0.02

HOSTILE = """# Done

<script>document.title = 'owned'; window.owned = true</script>
<img src="{bait}/tag.png" onerror="window.owned = true">
<iframe src="{bait}/frame"></iframe><style>body {{ background: url({bait}/style.png) }}</style>
![picture]({bait}/markdown.png) and [a link](command:workbench.action.quit) and [another]({bait}/link)
[click](javascript:window.owned=true) \x1b[31mred\x1b[0m \x1b]0;owned\x07 \u202eevil\u202c

```html
<script src="{bait}/code.js"></script>
```
"""
"""An answer as a model under somebody else's influence could give it. `bait`: an address that must never be asked."""


class StreamingPuppet(Puppet):
    """Besides the steps of `Puppet`: {"stream": TEXT} and {"stream": TEXT, "hold": KEY}, which stops half-way, and in
    any step "after": KEY, which begins it when the test says so."""

    async def _step(self, peer: Peer, response: str, step: Json) -> None:
        if "after" in step:
            self._gate(self._reached, step["after"]).set()
            await self._wait(peer, step["after"])
        if "stream" not in step:
            await super()._step(peer, response, step)
            return
        item = ev.message(step["stream"])
        pieces = max(2, len(step["stream"]) // PIECE)
        events = ev.numbered(
            [
                *ev.response_started(response),
                *ev.item_ladder(0, item, pieces),
                {"type": "response.completed", "response": ev.response(response, "completed", [item], usage=ev.USAGE)},
            ]
        )
        half = len(events) // 2
        await self._speak(peer, events[:half])
        if "hold" in step:
            self._gate(self._reached, step["hold"]).set()
            await self._wait(peer, step["hold"])
        await self._speak(peer, events[half:])

    async def _wait(self, peer: Peer, key: str) -> None:
        """Until the test lets it go on. Raises Gone if the client leaves before."""
        gate = asyncio.ensure_future(self._gate(self._gates, key).wait())
        gone = asyncio.ensure_future(peer.gone.wait())
        try:
            await asyncio.wait({gate, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gate.cancel()
            gone.cancel()
        if peer.gone.is_set():
            raise Gone

    @staticmethod
    async def _speak(peer: Peer, events: Sequence[Json]) -> None:
        for event in events:
            await peer.send(event)
            if event["type"] == "response.output_text.delta":
                await asyncio.sleep(PAUSE_S)


@asynccontextmanager
async def streaming_puppet() -> AsyncIterator[StreamingPuppet]:
    found = StreamingPuppet()
    await found.service.start()
    try:
        yield found
    finally:
        await found.service.stop_listening()
        await found.service.stop()


@asynccontextmanager
async def bait() -> AsyncIterator[tuple[str, list[str]]]:
    """An address on this machine, and the first lines of what asked it."""
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readline()).decode("latin-1").strip())
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
