"""Typing while the agent edits the same document: no lost user character, in both encodings, whatever the editor
answers. 50 seeds here, 1,000 with `make soak`; both with many seeds per server process."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from tests.interaction.lsp.conftest import with_answers
from tests.support.lsp.client import Listening, listening
from tests.support.lsp.puppet import Puppet, puppet
from tests.support.lsp.typing import Outcome, play_typing
from tests.support.system.cli import environment

CLIENTS = 4
JOURNAL = Path(os.environ.get("LOOPLINE_SOAK_DIR", ".cache/soak")) / "lsp_typing.jsonl"


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[Listening, Puppet]]:
    async with puppet() as model, listening("--tcp", environment(folder / "home"), folder) as server:
        yield server, model


async def play_all(
    server: Listening, model: Puppet, folder: Path, encoding: str, seeds: Iterable[int]
) -> list[Outcome]:
    """A few clients side by side, each taking seeds until there are none."""
    waiting, outcomes = list(seeds)[::-1], []

    async def work(number: int) -> None:
        root = folder / f"{encoding}-{number}"
        root.mkdir(exist_ok=True)
        async with server.client() as client:
            with_answers(client)
            options = {"approve": "auto", "baseUrl": model.base_url, "model": "puppet"}
            await client.initialize(root, encodings=[encoding], options=options)
            while waiting:
                outcomes.append(await play_typing(client, model, root, encoding, waiting.pop()))
                client.seen.clear()

    await asyncio.gather(*(work(number) for number in range(CLIENTS)))
    return outcomes


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
async def test_no_key_stroke_is_lost(tmp_path: Path, encoding: str) -> None:
    first = 0 if encoding == "utf-8" else 1_000_000
    async with serving(tmp_path) as (server, model):
        outcomes = await play_all(server, model, tmp_path, encoding, range(first, first + 25))
    assert [outcome for outcome in outcomes if outcome.wrong] == []
    counts = Counter(outcome.manner for outcome in outcomes)
    assert len(outcomes) == 25 and len(counts) == 2
    assert sum(outcome.made for outcome in outcomes) > 5 and sum(outcome.typed for outcome in outcomes) > 30


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
async def test_soak_no_key_stroke_is_lost(tmp_path: Path, encoding: str) -> None:
    """500 seeds each; those in the journal are not played again."""
    JOURNAL.parent.mkdir(parents=True, exist_ok=True)
    first = 2_000_000 if encoding == "utf-8" else 3_000_000
    done = {}
    if JOURNAL.exists():
        done = {found.seed: found for found in msgspec.json.Decoder(Outcome).decode_lines(JOURNAL.read_bytes())}
    left = [seed for seed in range(first, first + 500) if seed not in done]
    async with serving(tmp_path) as (server, model):
        for at in range(0, len(left), 50):
            outcomes = await play_all(server, model, tmp_path, encoding, left[at : at + 50])
            with JOURNAL.open("ab") as file:
                file.write(msgspec.json.Encoder().encode_lines(outcomes))
            done |= {outcome.seed: outcome for outcome in outcomes}
            bad = sum(bool(outcome.wrong) for outcome in outcomes)
            print(f"lsp typing {encoding}: {len(done)} seeds, {bad} of the last {len(outcomes)} wrong", flush=True)
    own = [outcome for outcome in done.values() if first <= outcome.seed < first + 500]
    assert len(own) == 500 and [outcome for outcome in own if outcome.wrong] == []
