"""Users who type while the agent edits the same document, drawn by seed, and what must hold afterwards."""

from __future__ import annotations

import asyncio
import random
import re
from pathlib import Path
from typing import Any

import msgspec

from tests.support.lsp.client import LspClient
from tests.support.lsp.editor import Buffer, Editor, Manner
from tests.support.lsp.puppet import Puppet, steps

EDITS = 3
ALPHABET = "ab =é√\u4e2d😀\U0001f468\u200d\t\x0c\u2028"
MANNERS: tuple[Manner, ...] = ("strict", "false_true")


class Outcome(msgspec.Struct):
    """What one seed came to. `wrong` is empty if everything held."""

    seed: int
    manner: str
    typed: int
    made: int
    refused: int
    wrong: list[str]


class Typist:
    """Types words that no one else writes, at places that are drawn, and at times takes one of them out again."""

    def __init__(self, editor: Editor, buffer: Buffer, draw: random.Random) -> None:
        self._editor, self._buffer, self._draw = editor, buffer, draw
        self.kept: set[str] = set()
        self.removed: set[str] = set()
        self._count = 0

    async def type(self) -> None:
        text = self._buffer.text
        if self.kept and self._draw.random() < 0.15:
            word = self._draw.choice(sorted(self.kept))
            at = text.find(word)
            if at >= 0:
                self.kept.remove(word)
                self.removed.add(word)
                await self._editor.type(self._buffer, at, "", len(word))
                return
        self._count += 1
        word = f"‹{self._draw.choice('aé😀')}{self._count}›"
        at = self._draw.choice(self._places(text))
        self.kept.add(word)
        await self._editor.type(self._buffer, at, word)

    def _places(self, text: str) -> list[int]:
        """Often right where the agent works, never inside of a word of one's own or of a line end."""
        inside = {at for found in re.finditer("‹[^›]*›", text) for at in range(found.start() + 1, found.end())}
        inside |= {found.start() + 1 for found in re.finditer("\r\n", text)}
        near = [found.start() + self._draw.randrange(-2, 6) for found in re.finditer("[⟪⟦]", text)]
        places = near if near and self._draw.random() < 0.5 else list(range(len(text) + 1))
        return [at for at in places if 0 <= at <= len(text) and at not in inside] or [len(text)]


async def play_typing(client: LspClient, model: Puppet, root: Path, encoding: str, seed: int) -> Outcome:
    """One document, one turn of edits, one typist. The client has `root` open."""
    draw = random.Random(seed)
    manner = draw.choice(MANNERS)
    editor = Editor(client, encoding, manner)
    path = root / f"seed{seed}.txt"
    end = draw.choice(["\n", "\r\n", "\r"])
    lines = ["".join(draw.choices(ALPHABET, k=draw.randrange(12))) for _ in range(draw.randrange(4, 14))]
    for number in range(EDITS):
        lines.insert(draw.randrange(len(lines) + 1), f"x ⟪{number}⟫ y")
    path.write_bytes(end.join(lines).encode())
    buffer = await editor.open(path)
    route(client, editor, buffer.uri)
    typist = Typist(editor, buffer, draw)
    editor.delays_changes = manner == "false_true" and draw.random() < 0.5
    quiet = draw.random() < 0.1

    async def before(at: Buffer) -> None:
        if not quiet and draw.random() < 0.4:
            await typist.type()

    async def after(at: Buffer) -> None:
        if not quiet and draw.random() < 0.4:
            await typist.type()

    editor.before_edit, editor.after_edit = before, after
    calls = [
        {"call": "edit", "args": {"path": path.name, "old": f"⟪{number}⟫", "new": f"⟦{number}⟧" + "😀" * (number % 2)}}
        for number in range(EDITS)
    ]
    started = await client.command("loopline.turn.start", {"task": steps(*calls, {"text": f"seed {seed}"})})
    typing = asyncio.create_task(_type_freely(editor, typist, draw, quiet))
    try:
        await client.event("turn.finished", timeout_s=60, turnId=started["turnId"])
    finally:
        typing.cancel()
        await asyncio.gather(typing, return_exceptions=True)
    await editor.flush()
    finished = client.events("tool.finished", turnId=started["turnId"])
    statuses = ["unsure" if "read it to see" in event["summary"] else event["status"] for event in finished]
    wrong = _check(buffer, typist, statuses, path)
    await editor.close(buffer)
    made = statuses.count("ok")
    return Outcome(seed, manner, typist._count, made, len(statuses) - made, wrong)


async def _type_freely(editor: Editor, typist: Typist, draw: random.Random, quiet: bool) -> None:
    while True:
        await asyncio.sleep(draw.expovariate(60))
        if not quiet and draw.random() < 0.3:
            await typist.type()
        await editor.flush()


def _check(buffer: Buffer, typist: Typist, statuses: list[str], path: Path) -> list[str]:
    text = buffer.text
    wrong = [f"lost {word}" for word in sorted(typist.kept) if text.count(word) != 1]
    wrong += [f"brought back {word}" for word in sorted(typist.removed) if word in text]
    # without the user's words, an edit that is reported made is there once, and one that is not is not
    bare = re.sub("‹[^›]*›", "", text)
    for number, status in enumerate(statuses):
        old, new = bare.count(f"⟪{number}⟫"), bare.count(f"⟦{number}⟧")
        right = {"ok": [(0, 1)], "unsure": [(0, 1), (1, 0)]}.get(status, [(1, 0)])
        if (old, new) not in right:
            wrong.append(f"edit {number} reported {status}, found {old} old and {new} new")
    if len(statuses) != EDITS:
        wrong.append(f"{len(statuses)} of {EDITS} edits ended")
    return wrong


def route(client: LspClient, editor: Editor, uri: str) -> None:
    """Several editors share a client: an edit goes to the one whose document it names."""
    editors: dict[str, Editor] = client.__dict__.setdefault("editors", {})
    editors[uri] = editor

    async def apply(params: Any) -> Any:
        changes = params["edit"]["documentChanges"]
        return await editors[changes[0]["textDocument"]["uri"]]._apply(params)

    client.handlers["workspace/applyEdit"] = apply
