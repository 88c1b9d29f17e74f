"""SIGHUP reads the engines of the configuration anew, while connections stay open."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent_core.telemetry.emitter import ListSink
from tests.support.service.running import TIMEOUT_S, Running, connected
from tests.support.service.serving import KEY, serving
from tests.support.system.cli import environment

FAR = '[engines.far]\nspec = "upstream:http://127.0.0.1:9/v1#one"\n'


async def _models(url: str) -> set[str]:
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, timeout=TIMEOUT_S) as client:
        answer = await client.get(f"{url}/v1/models")
    return {model["id"] for model in answer.json()["data"]}


async def _offers(url: str, wanted: set[str]) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            if await _models(url) == wanted:
                return
            await asyncio.sleep(0.02)


@pytest.mark.rule("route.reload")
async def test_a_connection_sees_a_reload(tmp_path: Path) -> None:
    env = environment(tmp_path)
    config = Path(env["XDG_CONFIG_HOME"]) / "loopline" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    built_in = {"repair", "scripted"}
    with serving(tmp_path, env) as served:
        running: Any = Running(served.url, None, ListSink())  # type: ignore[arg-type]
        headers = {"Authorization": f"Bearer {KEY}"}
        async with connected(running, headers=headers) as socket:
            assert (await socket.call(model="far", input="hi", store=False))["error"]["param"] == "model"
            first = await socket.response(input="hi", store=False)
            config.write_text(FAR)
            os.kill(served.pid, signal.SIGHUP)
            await _offers(served.url, built_in | {"far"})
            failed = await socket.call(model="far", input="hi", store=False, stream_id="other")
            assert failed["type"] == "response.failed", "nobody is at that address, but the model is known now"
            again = await socket.response(input="and?", store=False, previous_response_id=first["id"])
            assert again["usage"]["input_tokens"] > first["usage"]["input_tokens"]
            config.write_text("[engines.far]\nspec = 'odd:x'\n")
            os.kill(served.pid, signal.SIGHUP)
            config.write_text("")
            os.kill(served.pid, signal.SIGHUP)
            await _offers(served.url, built_in)
            assert (await socket.call(model="far", input="hi", store=False))["error"]["param"] == "model"
