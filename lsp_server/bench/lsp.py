"""The language server at rest, with a large document, and in a large tree in which everything changes at once."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from agent_core.bench.figures import Figure
from agent_core.bench.scale import quick
from lsp_server.bench.driver import Driven, driven
from lsp_server.bench.server import Seen

DOCUMENT_BYTES = 5_000_000
CHANGES = 300
FILES, FOLDERS = 200_000, 4_000
EVENTS = 50_000
QUICK_SHARE = 40
REST_S = 5.0
SETTLE_S = 3.0
"""The watch on files begins a second after the start."""

LINES = {
    "ASCII": "    value = compute(alpha, beta, gamma)  # something to say here\n",
    "emoji": "    value = compute(alpha, beta, gamma)  # etwas Schönes 😀 hier\n",
}


class Rest(msgspec.Struct, kw_only=True):
    """A server to which nothing happens. `cpu_share`: CPU time over wall time."""

    rss_mb: float
    cpu_share: float


class Typing(msgspec.Struct, kw_only=True):
    """A large document opened, then changed by one character at a time."""

    opened: Seen
    changed: Seen
    per_change_ms: float


class Storm(msgspec.Struct, kw_only=True):
    """`cpu_s`: what the events cost the process; `answer_ms`: a request right after them."""

    rest: Rest
    seen: Seen
    cpu_s: float
    answer_ms: float


async def rest(server: Driven, seconds: float = REST_S) -> Rest:
    before = await server.seen()
    await asyncio.sleep(seconds)
    after = await server.seen()
    return Rest(rss_mb=after.rss_mb, cpu_share=(after.cpu_s - before.cpu_s) / seconds)


async def type_into(server: Driven, path: Path, text: str, changes: int = CHANGES) -> Typing:
    """Open `path` with `text`, and type in places all over it."""
    server.watch()
    await server.seen()
    item = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
    await server.notify("textDocument/didOpen", {"textDocument": item})
    await server.ask("loopline/status", {})
    opened, lines = await server.seen(), text.count("\n")
    started_s = time.monotonic()
    for number in range(changes):
        place = {"line": number * 7919 % lines, "character": 4}
        await server.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": item["uri"], "version": number + 2},
                "contentChanges": [{"range": {"start": place, "end": place}, "text": "x"}],
            },
        )
        await server.ask("textDocument/hover", {"textDocument": {"uri": item["uri"]}, "position": place})
    per_change_ms = (time.monotonic() - started_s) * 1000 / changes
    return Typing(opened=opened, changed=await server.seen(), per_change_ms=per_change_ms)


def plant(root: Path, files: int, folders: int) -> list[Path]:
    """A tree of empty files in `folders` folders; the folders."""
    made = [root / f"area{number // 100}" / f"folder{number}" for number in range(folders)]
    for folder in made:
        folder.mkdir(parents=True)
        for number in range(files // folders):
            (folder / f"file{number}.py").touch()
    return made


async def storm(server: Driven, folders: list[Path], events: int) -> Storm:
    """Files come, change and go, `events` times altogether."""
    calm = await rest(server)
    server.watch()
    before = await server.seen()
    await asyncio.to_thread(_churn, folders, events)
    started_s = time.monotonic()
    await server.ask("loopline/status", {})
    answer_ms = (time.monotonic() - started_s) * 1000
    await asyncio.sleep(SETTLE_S)
    seen = await server.seen()
    return Storm(rest=calm, seen=seen, cpu_s=seen.cpu_s - before.cpu_s, answer_ms=answer_ms)


def _churn(folders: list[Path], events: int) -> None:
    for number in range(events // 4):
        path = folders[number % len(folders)] / f"new{number}.py"
        path.write_bytes(b"x = 1\n")  # made, and written
        with path.open("ab") as file:
            file.write(b"y = 2\n")
        path.unlink()


def measure() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="loopline-bench-") as name:
        yield from asyncio.run(_small(Path(name)))
        yield from asyncio.run(_large(Path(name)))


async def _small(folder: Path) -> list[Figure]:
    root = folder / "small"
    root.mkdir()
    figures = []
    async with driven(root, folder / "home") as server:
        await asyncio.sleep(SETTLE_S)
        calm = await rest(server)
        figures.append(Figure(name="lsp: idle memory", value=calm.rss_mb, unit="MB"))
        figures.append(Figure(name="lsp: idle CPU", value=calm.cpu_share * 100, unit="% of a core"))
        for kind, line in LINES.items():
            text = line * (DOCUMENT_BYTES // len(line.encode()))
            path = root / f"{kind}.py"
            path.write_text(text, encoding="utf-8")
            found = await type_into(server, path, text)
            about = f"5 MB document, {kind}"
            pauses = (("opened", found.opened), (f"{CHANGES} changes of a character", found.changed))
            for what, seen in pauses:
                figures.append(
                    Figure(name=f"lsp: {about}, {what}: longest pause, own CPU", value=seen.own_ms, unit="ms")
                )
                figures.append(Figure(name=f"lsp: {about}, {what}: longest pause, wall", value=seen.wall_ms, unit="ms"))
            figures.append(Figure(name=f"lsp: {about}, a change and a hover", value=found.per_change_ms, unit="ms"))
    return figures


async def _large(folder: Path) -> list[Figure]:
    root = folder / "large"
    root.mkdir()
    share = QUICK_SHARE if quick() else 1
    files, folders_wanted, events_wanted = FILES // share, FOLDERS // share, EVENTS // share
    folders = await asyncio.to_thread(plant, root, files, folders_wanted)
    async with driven(root, folder / "home-large") as server:
        await asyncio.sleep(SETTLE_S * 3)
        found = await storm(server, folders, events_wanted)
    tree, events = f"{files:,} files", f"{events_wanted:,} file events in {files:,} files"
    return [
        Figure(name="lsp: idle memory in a large tree", value=found.rest.rss_mb, unit="MB", note=tree),
        Figure(name="lsp: idle CPU in a large tree", value=found.rest.cpu_share * 100, unit="% of a core", note=tree),
        Figure(name="lsp: CPU time of a storm of file events", value=found.cpu_s, unit="s", note=events),
        Figure(name="lsp: longest pause in the storm, own CPU", value=found.seen.own_ms, unit="ms", note=events),
        Figure(name="lsp: longest pause in the storm, wall", value=found.seen.wall_ms, unit="ms", note=events),
        Figure(name="lsp: memory after the storm", value=found.seen.rss_mb, unit="MB", note=events),
        Figure(name="lsp: a request right after the storm", value=found.answer_ms, unit="ms", note=events),
    ]
