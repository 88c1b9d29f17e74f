"""Events of a hostile source: whatever any of their fields holds is text on every page, in every stream and export."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from agent_core.telemetry.events import Event, ServiceCall
from dashboard.hub.ingest.ndjson import Batch
from tests.support.hub.stores import work
from tests.support.system.hostile_text import HOSTILE, trouble
from tests.support.telemetry.scene import Scene
from tests.support.web.running import Site, running_site

MARKUP = "\"'><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}</script>]]>-->&lt;`${1}`javascript:alert(3)"
TEXT = MARKUP + "".join(text for name, text in HOSTILE.items() if name not in ("long", "surrogate", "nul"))
WRITTEN = {"v", "source", "time", "at", "wall", "status", "type", "reuse", "transport", "channel", "decision", "kind"}
PAGES = ("/", "/trends?range=1h", "/trends?range=1h&by=model", "/trends?range=1h&by=project", "/reuse?range=1h",
         "/trends?range=1h&by=person", "/errors", "/settings", "/people?range=1h", "/service?range=1h")  # fmt: skip
DATA = ("/api/now", "/api/turns", "/api/trends?range=1h&by=model", "/api/reuse", "/api/errors", "/api/health",
        "/metrics", "/api/usage?by=model", "/api/usage?by=model&format=csv", "/api/events",
        "/api/people?range=1h", "/api/service?range=1h", "/api/usage?by=person&format=csv",
        "/api/export?format=ndjson&range=1h", "/api/export?format=csv&range=1h")  # fmt: skip


def bent(event: Event) -> Event:
    """The event with the text behind each of its own, names and ids alike."""
    changed: dict[str, Any] = {}
    for field in msgspec.structs.fields(type(event)):
        value = getattr(event, field.name)
        if isinstance(value, str) and field.type in (str, str | None) and field.name not in WRITTEN:
            changed[field.name] = value + TEXT
    return msgspec.structs.replace(event, **changed)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as running:
        yield running


def hostile_scene(site: Site) -> Scene:
    scene = Scene(source="h000001-1-000001", session="sess_1")
    scene.clock.set_wall(site.clock.wall_ns() - 600 * 10**9)
    scene.start_session("shop")
    scene.open_connection()
    work(scene)
    scene.start_turn()
    call = scene.send(model="m")
    scene.complete(call, 5.0, status="failed", error_code="broken")
    stages = {TEXT: 1.0}
    scene.emit(ServiceCall(response_id="resp", stages_ms=stages, new_tokens=1, reused_tokens=0))
    scene.finish_turn()
    scene.start_turn()
    scene.send(model="m")
    return scene


def as_shown(text: str) -> str:
    """What a person reads of a page, where tags are not what somebody brought."""
    return html.unescape(re.sub(r"<[^>]*>", " ", text))


async def test_it_is_text_on_every_page_and_in_every_stream(site: Site) -> None:
    events = [bent(event) for event in hostile_scene(site).events]
    turns = sorted({event.turn for event in events if event.turn})
    async with site.client(site.secret) as client, client.stream("GET", "/api/stream") as stream:
        await site.hub.accept("local", "ann", Batch(events[0].source, events, events[-1].seq, 0, events[0].seq))
        sent = b""
        async with asyncio.timeout(20):
            async for piece in stream.aiter_raw():
                sent += piece
                if b"alert" in sent and sent.endswith(b"\n\n"):
                    break
        assert not trouble(sent), trouble(sent)
        for path in DATA:
            answer = await client.get(path)
            assert answer.status_code == 200, path
            assert not trouble(answer.content), (path, trouble(answer.content))
            assert "<script" not in answer.text or "text/html" not in answer.headers["content-type"], path
            assert answer.headers["x-content-type-options"] == "nosniff", path
        page = {"accept": "text/html"}
        seen = 0
        for path in (*PAGES, *(f"/turns/{quote(turn, safe='')}" for turn in turns)):
            answer = await client.get(path, headers=page)
            assert answer.status_code in (200, 404), path
            assert not trouble(answer.content), (path, trouble(answer.content))
            assert "<img src=x" not in answer.text and "alert(2)</script>" not in answer.text, path
            assert "49" not in re.findall(r"\{\{.*?\}\}|>(\d+)</script>", answer.text), path
            assert "unsafe-inline" not in answer.headers["content-security-policy"].split("style-src")[0], path
            seen += "<img src=x" in as_shown(answer.text)
        assert seen >= 2, "it is shown, as text"
