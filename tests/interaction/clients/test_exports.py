"""Real Codex and real Copilot CLI export into a hub while our agent runs beside them, all against one service."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.responses_server.settings import ApiKey
from agent_core.telemetry.events import ServiceCall
from agent_core.telemetry.hub.shipper import Shipper
from dashboard.hub.store.records import TurnQuery, TurnRecord
from tests.support.agent.others import ExportTo, codex, copilot
from tests.support.service.running import Running, running_service
from tests.support.system.cli import environment, loopline
from tests.support.system.waiting import eventually
from tests.support.web.running import Site, running_site

pytestmark = pytest.mark.timeout(900)

CLIENTS = {"codex": "codex_exec", "copilot": "github-copilot", "loopline": "cli"}
"""Key of the service, and what each calls itself."""


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path / "hub") as running:
        yield running


async def ledger_of(running: Running) -> dict[str, tuple[int, int, int, int]]:
    """Calls, input, cached and output tokens by key, without Codex's warm-up, which generates nothing."""
    found: dict[str, Counter[str]] = {}
    for event in running.sink.events:
        account = isinstance(event, ServiceCall) and await running.service.pipeline.settlement.ledger.find(
            event.response_id
        )
        if account and account.output_tokens:
            sums = found.setdefault(account.intent.key, Counter())
            sums.update(calls=1, input=account.input_tokens or 0, output=account.output_tokens)
            sums.update(cached=account.cached_tokens or 0)
    return {key: (sums["calls"], sums["input"], sums["cached"], sums["output"]) for key, sums in found.items()}


def codex_otel(to: ExportTo, protocol: str = "binary") -> str:
    """As `loopline hub setup codex` says it."""
    lines = []
    for table, path in (("exporter", "logs"), ("trace_exporter", "traces")):
        lines += [
            f"[otel.{table}.otlp-http]",
            f'endpoint = "{to.url}/v1/{path}"',
            f'protocol = "{protocol}"',
            f'headers = {{ "Authorization" = "Bearer {to.token}" }}',
        ]
    return "\n".join(lines)


async def all_three(folder: Path, site: Site, running: Running) -> None:
    folders = {}
    for key in CLIENTS:
        folders[key] = folder / key
        (folders[key] / "work").mkdir(parents=True)
    to = {key: ExportTo(site.url, site.token(f"anna@{key}", "agent", "web")) for key in CLIENTS}
    exporting = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": site.url,
        "OTEL_EXPORTER_OTLP_HEADERS": f"Authorization=Bearer {to['copilot'].token}",
    }
    ours = environment(
        folders["loopline"], OPENAI_API_KEY="key-loopline", LOOPLINE_HUB_URL=site.url,
        LOOPLINE_HUB_TOKEN=to["loopline"].token,
    )  # fmt: skip
    command = ("run", "-w", str(folders["loopline"] / "work"), "--base-url", running.base_url, "--model", "scripted")
    work = functools.partial(loopline, *command, "--approve", "auto", "Look around.", env=ours)
    done, *_ = await asyncio.gather(
        asyncio.to_thread(work),
        codex(
            folders["codex"], running.base_url, "scripted", "Run the tool.", folders["codex"] / "work",
            key="key-codex", otel=codex_otel(to["codex"]),
        ),
        copilot(
            folders["copilot"], running.base_url, "Run the tool.", folders["copilot"] / "work", key="key-copilot",
            env=exporting,
        ),
    )  # fmt: skip
    assert done.code == 0, done.err[-2000:]
    # What a short run left in its journal, the process that runs next ships.
    shipper = Shipper(folders["loopline"] / "state" / "loopline", site.url, to["loopline"].token, poll_s=0.1)
    shipper.start()
    try:
        await eventually(lambda: [one for one in turns_of(site) if one.agent == "anna@loopline" and one.ended_us])
    finally:
        await asyncio.to_thread(shipper.close)


def turns_of(site: Site) -> list[TurnRecord]:
    return site.hub.store.turns(TurnQuery(team="web", since_us=0, until_us=1 << 60, limit=100))


@pytest.mark.rule("clients.exports")
async def test_three_agents_stand_beside_each_other_with_the_tokens_of_the_ledger(tmp_path: Path, site: Site) -> None:
    keys = tuple(ApiKey(key, f"key-{key}") for key in CLIENTS)
    with running_service(api_keys=keys) as running:
        await all_three(tmp_path, site, running)
        ledger = await ledger_of(running)
    assert set(ledger) == set(CLIENTS)
    async with site.client(site.secret) as client:
        usage = (await client.get("/api/usage?by=agent")).json()["rows"]
        now = (await client.get("/api/now")).json()
        turns = {row["title"].split("/")[0]: row for row in now["ended"]}
        told = [(await client.get(f"/api/turns/{row['turn']}")).json() for row in now["ended"]]
        people = (await client.get("/api/usage?by=person")).json()["rows"]
    names = ("calls", "input_tokens", "cached_tokens", "output_tokens")
    counted = {row["name"].partition("@")[2]: tuple(row[name] or 0 for name in names) for row in usage}
    assert counted == ledger
    assert {row["status"] for row in turns.values()} == {"completed"}
    assert set(CLIENTS.values()) <= {_client(one) for one in told}
    assert {(_client(one) == "cli", call["origin"]) for one in told for call in one["calls"]} == {
        (True, "measured"),
        (False, "reported"),
    }
    assert [row["name"] for row in people] == ["anna"]
    assert all(one["stages_ms"]["client_tool"] > 0 for one in told)


def _client(told: Any) -> str:
    return str(told["turn"]["client"]).partition("/")[0]
