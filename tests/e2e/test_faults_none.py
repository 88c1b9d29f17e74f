"""Without faults, over WebSocket and HTTP: the summary line is what a count of the captured bytes comes to.

The task has reasoning before every reply, so it goes along, sealed, wherever the whole input is sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_faults import rollout
from tests.support.agent.faults import CALLS, FINAL, files
from tests.support.model.tap import Tap, tapped
from tests.support.service.serving import KEY, Serving, serving
from tests.support.system.cli import Done, environment, loopline


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("service")
    (folder / "rollout.json").write_text(json.dumps(rollout()))
    with serving(folder, environment(folder / "home"), "--rollout", str(folder / "rollout.json")) as running:
        yield running


async def run(folder: Path, service: Serving, transport: str) -> tuple[Done, Tap]:
    project = folder / "project"
    project.mkdir()
    env = environment(folder / "home") | {"OPENAI_API_KEY": KEY}
    async with tapped(int(service.url.rpartition(":")[2])) as tap:
        arguments = ["run", "do all of it", "-w", str(project), "--approve", "auto", "--json", "--model", "scripted"]
        arguments += ["--base-url", tap.base_url, "--transport", transport]
        done = await asyncio.to_thread(loopline, *arguments, env=env)
    assert done.code == 0, done.err
    assert files(project) == FINAL
    return done, tap


def kinds(create: dict[str, Any]) -> list[str]:
    return [item["type"] for item in create["input"]]


@pytest.mark.parametrize("transport", ["websocket", "http"])
async def test_the_summary_is_a_count_of_what_was_sent(tmp_path: Path, service: Serving, transport: str) -> None:
    done, tap = await run(tmp_path, service, transport)
    creates, summary = tap.creates(), done.summary
    real = [create for create in creates if create.get("generate") is not False]
    assert summary["calls"] == len(real) == CALLS
    assert summary["connections"] == len(tap.up) == 1
    assert summary["bytes_up"] == sum(map(len, tap.bodies()))
    assert summary["reused_calls"] == sum("previous_response_id" in create for create in creates)
    assert summary["full_resends"] == sum("previous_response_id" not in create for create in creates[1:])
    if transport == "websocket":
        assert (summary["reused_calls"], summary["full_resends"]) == (CALLS, 0)
        assert not any("reasoning" in kinds(create) for create in creates)
    else:
        assert (summary["reused_calls"], summary["full_resends"]) == (0, CALLS - 1)
        assert kinds(creates[-1]).count("reasoning") == CALLS - 1
        sealed = [item["encrypted_content"] for item in creates[-1]["input"] if item["type"] == "reasoning"]
        assert all(sealed)
