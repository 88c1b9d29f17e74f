"""Prompts, cancels, choices and permissions in any order: nothing hangs, and nothing runs that was denied."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.acp.client import agent
from tests.support.acp.interleaving import Interleaving
from tests.support.lsp.puppet import puppet, puppet_env

SAMPLE, MANY = 12, 2_000
A_PROCESS = 100
"""Seeds of one process of the agent."""


async def interleaved(home: Path, seeds: range) -> None:
    folder = home / "work"
    folder.mkdir()
    async with puppet() as model, agent(puppet_env(home / "home", model)) as client:
        await client.initialize()
        for seed in seeds:
            await Interleaving(client, folder, seed).run()
        assert "sessions" in await client.ask("session/list")


@pytest.mark.timeout(300)
async def test_a_sample(tmp_path: Path) -> None:
    await interleaved(tmp_path, range(SAMPLE))


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(0, MANY, A_PROCESS))
async def test_two_thousand(tmp_path: Path, first: int) -> None:
    await interleaved(tmp_path, range(first, first + A_PROCESS))
