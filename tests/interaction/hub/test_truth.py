"""What cannot be right is marked wherever it is shown; usage by name; axes whose labels differ."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.telemetry import events as ev
from tests.support.hub.stores import batch_of, work
from tests.support.telemetry.scene import Scene
from tests.support.web.running import Site, running_site

HTML = {"accept": "text/html"}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as running:
        yield running


async def pushed(site: Site, number: int = 1, team: str = "local", agent: str = "ann", **fields: Any) -> str:
    """A turn of one call with these figures; gives its id."""
    scene = Scene(source=f"h{number:06x}-1-{number:06x}", session=f"sess_{number}")
    scene.clock.set_wall(site.clock.wall_ns() - 300 * 10**9)
    scene.start_session("shop")
    turn = scene.start_turn()
    scene.call(**fields)
    scene.finish_turn()
    await site.hub.accept(team, agent, batch_of(scene.events))
    return turn


@pytest.mark.parametrize("cached", [3_000, -7, (1 << 40) + 1])
async def test_impossible_cached_tokens_are_kept_and_marked_on_every_page(site: Site, cached: int) -> None:
    turn = await pushed(site, input_tokens=100, cached_tokens=cached)
    sound = await pushed(site, 2, input_tokens=100, cached_tokens=50)
    async with site.client(site.secret) as client:
        found = (await client.get(f"/api/turns/{turn}")).json()
        (call,) = found["calls"]
        assert (call["cached_tokens"], call["suspect"]) == (cached, ["cached_tokens"])
        assert found["turn"]["suspect"] == ["cached_tokens"]
        assert (await client.get(f"/api/turns/{sound}")).json()["calls"][0]["suspect"] == []
        assert (await client.get("/api/trends")).json()["suspect"] == {"cached_tokens": 1}
        exported = csv.DictReader(io.StringIO((await client.get("/api/export?format=csv")).text))
        assert [row["suspect"] for row in exported if row["type"] == "call.completed"] in (
            ["cached_tokens", ""],
            ["", "cached_tokens"],
        )
        lines = (await client.get("/api/export?format=ndjson")).text
        assert lines.count('"suspect":["cached_tokens"]') == 1
        (usage,) = (await client.get("/api/usage")).json()["rows"]
        assert (usage["cached_tokens"], usage["suspect"]) == (cached + 50, ["cached_tokens"])
        assert 'figure="cached_tokens"' in (await client.get("/metrics")).text
    async with site.client(site.secret, **HTML) as client:
        for path in ("/", f"/turns/{turn}", "/trends", "/reuse", "/people"):
            assert "suspect" in (await client.get(path)).text, path
        page = (await client.get(f"/turns/{turn}")).text
        assert f'{cached:,} <b class="suspect">suspect</b>' in page
        assert f"{cached + 50:,} (?)" in (await client.get("/trends")).text
        assert "suspect" not in (await client.get(f"/turns/{sound}")).text


async def test_the_errors_page_lists_it_once_in_words(site: Site) -> None:
    turn = await pushed(site, agent="ann", input_tokens=100, cached_tokens=3_000)
    await pushed(site, 2, agent="bert", input_tokens=100, cached_tokens=50)
    async with site.client(site.secret) as client:
        (error,) = (await client.get("/api/errors")).json()["errors"]
    assert (error["turn"], error["code"], error["severity"]) == (turn, "suspect_figures", "warning")
    assert error["text"] == "reported figures that cannot be right: cached tokens"
    async with site.client(site.secret, **HTML) as client:
        assert (await client.get("/errors")).text.count("cannot be right: cached tokens") == 1


async def test_negative_figures_of_tools_approvals_and_turns_are_kept_and_marked(site: Site) -> None:
    scene = Scene(source="h000001-1-000001", session="sess_1")
    scene.clock.set_wall(site.clock.wall_ns() - 300 * 10**9)
    scene.start_session("shop")
    turn = scene.start_turn()
    call = scene.send()
    scene.complete(call, -3, -2, ttft_ms=-0.5, input_tokens=10, output_tokens=5)
    ids: dict[str, Any] = {"session": scene.session, "turn": turn}
    scene.emit(ev.ToolStarted(**ids, tool_call="t1", name="edit"))
    scene.emit(ev.ToolFinished(**ids, tool_call="t1", name="edit", status="ok", duration_ms=-5, output_bytes=1))
    scene.emit(ev.ApprovalOpened(**ids, approval="a1", kind="command"))
    scene.emit(ev.ApprovalResolved(**ids, approval="a1", kind="command", decision="allow", rule="", waited_ms=-7))
    ends: dict[str, Any] = {"status": "completed", "duration_ms": -9.0, "calls": 1, "tools": 1}
    scene.emit(ev.TurnFinished(**ids, **ends, stages_ms={"inference": -9.0}))
    await site.hub.accept("local", "ann", batch_of(scene.events))
    async with site.client(site.secret) as client:
        found = (await client.get(f"/api/turns/{turn}")).json()
        (told,), (tool,), (approval,) = found["calls"], found["tools"], found["approvals"]
        assert (told["duration_ms"], told["inference_ms"], told["ttft_ms"]) == (-3, -2, -0.5)
        assert told["suspect"] == ["duration_ms", "ttft_ms", "inference_ms"]
        assert (tool["duration_ms"], tool["suspect"]) == (-5, ["duration_ms"])
        assert (approval["waited_ms"], approval["suspect"]) == (-7, ["waited_ms"])
        names = ["duration_ms", "ttft_ms", "inference_ms", "waited_ms", "stages_ms"]
        assert found["turn"]["suspect"] == names
        rows = csv.DictReader(io.StringIO((await client.get("/api/export?format=csv")).text))
        marked = {row["type"]: row["suspect"] for row in rows if row["suspect"]}
        assert marked == {
            "call.completed": "duration_ms ttft_ms inference_ms",
            "tool.finished": "duration_ms",
            "approval.resolved": "waited_ms",
            "turn.finished": "duration_ms stages_ms",
        }
        assert (await client.get("/api/export?format=ndjson")).text.count('"suspect":[') == 4
        errors = (await client.get("/api/errors")).json()["errors"]
        assert {error["text"].partition(" reported ")[0] for error in errors if error["code"] == "suspect_figures"} >= {
            "edit",
            "an approval",
        }
    async with site.client(site.secret, **HTML) as client:
        page = (await client.get(f"/turns/{turn}")).text
    assert "edit: duration (-5.0 ms)" in page
    assert "approval: waited (-7.0 ms)" in page
    assert "end of the turn: duration, stages" in page
    assert '-0.5 ms <b class="suspect">suspect</b>' in page


async def test_negative_counts_are_kept_and_marked_wherever_they_were_told(site: Site) -> None:
    scene = Scene(source="h000001-1-000001", session="sess_1")
    scene.clock.set_wall(site.clock.wall_ns() - 300 * 10**9)
    scene.start_session("shop")
    turn = scene.start_turn()
    scene.call(sent={"bytes_up": -4_096, "input_items": -1}, input_tokens=100, cached_tokens=0)
    ids: dict[str, Any] = {"session": scene.session, "turn": turn}
    scene.emit(ev.ToolStarted(**ids, tool_call="t1", name="edit"))
    scene.emit(ev.ToolFinished(**ids, tool_call="t1", name="edit", status="ok", duration_ms=5, output_bytes=-1))
    scene.emit(ev.TurnFinished(**ids, status="completed", duration_ms=9.0, calls=-1, tools=1, stages_ms={}))
    await site.hub.accept("local", "ann", batch_of(scene.events))
    async with site.client(site.secret) as client:
        found = (await client.get(f"/api/turns/{turn}")).json()
        assert found["calls"][0]["suspect"] == ["input_items", "bytes_up"]
        assert found["turn"]["suspect"] == ["input_items", "bytes_up", "output_bytes", "calls"]
        rows = csv.DictReader(io.StringIO((await client.get("/api/export?format=csv")).text))
        assert {row["type"]: row["suspect"] for row in rows if row["suspect"]} == {
            "call.sent": "input_items bytes_up",
            "tool.finished": "output_bytes",
            "turn.finished": "calls",
        }
    async with site.client(site.secret, **HTML) as client:
        for path in ("/", f"/turns/{turn}", "/trends", "/reuse", "/errors", "/service"):
            assert (await client.get(path)).status_code == 200, path
        assert "call 1: input items, bytes up; edit: output bytes" in (await client.get(f"/turns/{turn}")).text


async def test_only_the_sums_of_who_reported_it_are_marked(site: Site) -> None:
    await pushed(site, agent="anna@ci", input_tokens=100, cached_tokens=3_000)
    await pushed(site, 2, agent="bert", input_tokens=100, cached_tokens=50)
    async with site.client(site.secret, **HTML) as client:
        page = (await client.get("/trends?by=person")).text
    assert "anna 3,000, the only value" in page
    summary = page[page.index("anna 3,000") :].partition("</p>")[0]
    assert "(?); bert 50" in summary
    assert summary.count("(?)") == 1


async def test_usage_and_trends_by_every_name(site: Site) -> None:
    await pushed(site, 1, "blue", "anna@laptop", input_tokens=100, cached_tokens=40, reasoning_tokens=3)
    await pushed(site, 2, "blue", "anna@ci", input_tokens=10, cached_tokens=4, output_tokens=2)
    await pushed(site, 3, "red", "bert", input_tokens=1, cached_tokens=None, output_tokens=1)

    async with site.client(site.secret) as client:

        async def by(name: str) -> dict[str, tuple[int, int | None, int]]:
            rows = (await client.get(f"/api/usage?by={name}")).json()["rows"]
            return {row["name"]: (row["input_tokens"], row["cached_tokens"], row["calls"]) for row in rows}

        assert await by("model") == {"gpt-5": (111, 44, 3)}
        assert await by("agent") == {"anna@laptop": (100, 40, 1), "anna@ci": (10, 4, 1), "bert": (1, None, 1)}
        assert await by("person") == {"anna": (110, 44, 2), "bert": (1, None, 1)}
        assert await by("team") == {"blue": (110, 44, 2), "red": (1, None, 1)}
        assert await by("project") == {"shop": (111, 44, 3)}
        assert (await client.get("/api/usage?by=colour")).status_code == 400
        table = (await client.get("/api/usage?by=person&format=csv")).text
        assert table.splitlines()[0].startswith("name,calls,input_tokens,cached_tokens,output_tokens,reasoning_tokens")
        charts = {chart["key"]: chart for chart in (await client.get("/api/trends?by=person")).json()["charts"]}
        assert {"tokens.input", "tokens.cached", "tokens.output", "cost"} <= charts.keys()
        assert sorted(charts["tokens.input"]["lines"]) == ["anna", "bert"]
    async with site.client(site.token("lead", "viewer", "blue")) as client:
        rows = (await client.get("/api/usage?by=team")).json()["rows"]
        assert [row["name"] for row in rows] == ["blue"], "others' figures stay theirs"


async def test_one_point_says_something(site: Site) -> None:
    await pushed(site, input_tokens=1_234, cached_tokens=1_000)
    async with site.client(site.secret, **HTML) as client:
        page = (await client.get("/trends")).text
    assert "input 1,234, the only value" in page
    assert "between 1,234 and 1,234" not in page


async def test_two_turns_give_no_verdict(site: Site) -> None:
    scene = Scene(source="h000009-1-000009", session="sess_9")
    scene.clock.set_wall(site.clock.wall_ns() - 300 * 10**9)
    scene.start_session("shop")
    one, other = work(scene), work(scene, calls=1)
    await site.hub.accept("local", "ann", batch_of(scene.events))
    async with site.client(site.secret, **HTML) as client:
        page = (await client.get(f"/turns/{one}?with={other}")).text
    assert "too few for a verdict" in page
    assert "better" not in page
    assert "worse" not in page
