"""What pages and data say, on a real server fed with real events: figures, filters, teams, exports, settings."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from agent_core.telemetry.codec import decode_event
from agent_core.telemetry.events import Event
from agent_core.telemetry.export.columns import columns
from agent_core.telemetry.rollup.rollup import Rollup
from dashboard.web.api import CURSOR_HEADER
from tests.support.hub.stores import batch_of, work
from tests.support.telemetry.scene import Scene
from tests.support.web.running import Site, running_site

HTML = {"accept": "text/html"}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as running:
        yield running


def recent_scene(site: Site, number: int = 1, *, ago_s: float = 600, project: str | None = "shop") -> Scene:
    """A session that began `ago_s` seconds before now."""
    scene = Scene(source=f"h{number:06x}-1-{number:06x}", session=f"sess_{number}")
    scene.clock.set_wall(site.clock.wall_ns() - round(ago_s * 1e9))
    scene.start_session(project)
    scene.open_connection()
    return scene


async def push(site: Site, scene: Scene, team: str = "local", agent: str = "ann") -> None:
    await site.hub.accept(team, agent, batch_of(scene.events))


async def test_empty_pages_say_what_to_run(site: Site) -> None:
    async with site.client(site.secret, **HTML) as client:
        for path, words in (
            ("/", "loopline demo"),
            ("/trends", "loopline demo"),
            ("/reuse", "loopline demo"),
            ("/errors", "No troubles"),
        ):
            assert words in (await client.get(path)).text, path


async def test_pages_are_whole_without_any_script(site: Site) -> None:
    scene = recent_scene(site)
    turn = work(scene)
    scene.start_turn()
    call = scene.send()
    scene.delta(call, 33)
    await push(site, scene)
    async with site.client(site.secret, **HTML) as client:
        now = (await client.get("/")).text
        assert f"/turns/{scene.turn}" in now
        assert f"/turns/{turn}" in now
        assert "33 ms" in now
        page = (await client.get(f"/turns/{turn}")).text
        for text in ("call 1", "call 2", "call 3", "read", "185 ms", "⟲ reused", "inference", "gpt-5"):
            assert text in page, text
        trends = (await client.get("/trends?range=1h")).text
        assert "Time to first token" in trends
        assert "<table" in trends
        assert 'data-y="' in trends


async def test_the_turn_page_adds_up(site: Site) -> None:
    scene = recent_scene(site)
    turn = work(scene, calls=4)
    await push(site, scene)
    rollup = Rollup().fold_all(scene.events)
    async with site.client(site.secret) as client:
        data = (await client.get(f"/api/turns/{turn}")).json()
        page = (await client.get(f"/turns/{turn}", headers=HTML)).text
    assert sum(data["stages_ms"].values()) == pytest.approx(rollup.turns[turn].duration_ms)
    assert [call["call"] for call in data["calls"]] == [row.call for row in rollup.call_rows(turn=turn)]
    [stack] = re.findall(r'<svg class="stack".*?</svg>', page, re.S)
    widths = [float(width) for width in re.findall(r'<rect class="part"[^>]*width="([\d.]+)%"', stack)]
    assert sum(widths) == pytest.approx(100, abs=0.1)
    assert page.count('class="line" tabindex') == 4 + 3


async def test_a_turn_of_another_day_or_team_is_not_there(site: Site) -> None:
    scene = recent_scene(site)
    turn = work(scene)
    await push(site, scene, "red")
    blue = site.token("blue", "viewer", "blue")
    async with site.client(blue, **HTML) as client:
        for path in (f"/turns/{turn}", f"/api/turns/{turn}", "/turns/none", "/turns/", "/turns/%2e%2e"):
            answer = await client.get(path)
            assert answer.status_code == 404, path
            assert turn not in answer.text or path.endswith(turn)
    async with site.client(site.secret, **HTML) as client:
        assert (await client.get(f"/turns/{turn}")).status_code == 200


async def test_teams_see_their_own_rows_everywhere(site: Site) -> None:
    for team, number in (("red", 1), ("blue", 2)):
        scene = recent_scene(site, number, project=f"project-of-{team}")
        work(scene)
        scene.start_turn()
        call = scene.send(model=f"model-of-{team}")
        scene.complete(call, 5.0, status="failed", error_code=f"code-of-{team}")
        await push(site, scene, team, f"agent-of-{team}")
    token = site.token("blue", "admin", "blue")
    paths = [
        "/", "/trends?range=1h", "/trends?range=1h&by=project", "/reuse?range=1h", "/errors", "/settings", "/api/now",
        "/api/turns", "/api/trends?range=1h&by=model", "/api/reuse", "/api/errors", "/api/events",
        "/api/export?format=ndjson", "/api/export?format=csv&range=1h", "/metrics", "/turns/sess_2_turn_1",
        "/turns/sess_2_turn_1?with=sess_1_turn_1", "/people", "/people?range=1h", "/api/people",
        "/service", "/api/service",
        "/api/usage", "/api/usage?by=person", "/api/usage?by=project", "/api/usage?by=client",
        "/trends?range=1h&by=person", "/trends?range=1h&by=team", "/api/trends?range=1h&by=agent",
        "/people?team=red", "/api/usage?team=red", "/service?team=red", "/api/events?session=sess_1",
        "/api/turns?team=red",
    ]  # fmt: skip
    async with site.client(token) as client:
        for path in paths:
            answer = await client.get(path, headers=HTML if not path.startswith("/api") else {})
            assert answer.status_code == 200, path
            assert "of-red" not in answer.text, path
            assert "h000001-1-000001" not in answer.text, path
        assert "of-blue" in (await client.get("/metrics")).text
        assert "of-blue" in (await client.get("/api/export?range=1h")).text
    async with site.client(site.secret) as client:
        both = (await client.get("/api/trends?range=1h&by=model")).text
        assert "model-of-red" in both
        assert "model-of-blue" in both


async def test_a_team_admin_makes_and_revokes_tokens_of_that_team_only(site: Site) -> None:
    site.token("red-one", "viewer", "red")
    cookie, csrf = await site.signed_in(site.token("boss", "admin", "blue"))
    async with site.client(**HTML, **cookie, origin=site.url) as client:
        form = {"csrf": csrf, "name": "new", "role": "viewer", "team": "blue"}
        made = await client.post("/settings/tokens", data=form)
        assert made.status_code == 200
        [token] = re.findall(r"llh_[\w-]+", made.text)
        assert token not in (await client.get("/settings")).text
        assert (await client.post("/settings/tokens", data={**form, "name": "x", "team": "red"})).status_code == 403
        assert (await client.post("/settings/tokens", data={**form, "name": "x", "team": "*"})).status_code == 403
        assert (await client.post("/settings/tokens", data={**form, "role": "king", "name": "y"})).status_code == 422
        assert (await client.post("/settings/tokens/revoke", data={"csrf": csrf, "name": "red-one"})).status_code == 404
        assert "red-one" not in (await client.get("/settings")).text
        assert (await client.post("/settings/tokens/revoke", data={"csrf": csrf, "name": "new"})).status_code == 303
    async with site.client(token) as client:
        assert (await client.get("/api/me")).status_code == 401


async def test_settings_are_changed_checked_kept_and_used(site: Site, tmp_path: Path) -> None:
    async with site.client(site.secret) as client:
        answer = await client.put("/api/settings", json={"raw_days": 7, "targets": {"ttft_ms": 1.0}})
        assert answer.status_code == 200
        assert (answer.json()["raw_days"], answer.json()["rollup_days"]) == (7, 400)
        for wrong in (
            {"raw_days": 0}, {"raw_days": 500, "rollup_days": 400}, {"unknown": 1}, {"targets": {"ttft_ms": -1}},
            {"prices": {"m": {"input": -1.0, "output": 1.0}}}, {"prices": {"m": {"input": 1.0}}},
            {"markers": [{"at": "yesterday", "label": "x"}]},
            {"markers": [{"at": "2026-11-30T10:00:00Z", "label": ""}]},
            {"raw_days": "many"},
        ):  # fmt: skip
            refused = await client.put("/api/settings", json=wrong)
            assert refused.status_code == 422, wrong
        for body in (b"", b"[]", b"{", b"null"):
            assert (await client.put("/api/settings", content=body)).status_code == 400, body
        scene = recent_scene(site)
        work(scene)
        await push(site, scene)
        group = (await client.get("/api/trends?range=1h")).json()
        [goodput] = [chart for chart in group["charts"] if chart["key"] == "goodput"]
        assert goodput["points"][-1]["values"] == [0.0]
    viewer = site.token("v", "viewer", "local")
    async with site.client(viewer) as client:
        assert (await client.put("/api/settings", json={"raw_days": 8})).status_code == 403
        assert (await client.get("/api/settings")).json()["raw_days"] == 7
    assert msgspec.json.decode(site.parts.people.value("settings") or b"{}")["raw_days"] == 7


async def test_the_settings_form_says_what_is_wrong(site: Site) -> None:
    cookie, csrf = await site.signed_in()
    async with site.client(**HTML, **cookie, origin=site.url) as client:
        form = {
            "csrf": csrf,
            "raw_days": "14",
            "rollup_days": "100",
            "targets": "1",
            "ttft_ms": "250",
            "prices": "",
            "markers": "",
        }
        assert (await client.post("/settings", data=form)).status_code == 303
        assert site.hub.settings.targets.ttft_ms == 250
        good = {**form, "prices": "my-model: input 1.5, output 6\n", "markers": "2026-11-30T10:00:00Z switched"}
        assert (await client.post("/settings", data=good)).status_code == 303
        assert site.hub.settings.prices == {"my-model": {"input": 1.5, "output": 6.0}}
        assert site.hub.settings.markers[0].label == "switched"
        page = (await client.get("/settings")).text
        assert "my-model: input 1.5, output 6" in page
        for wrong in ({"raw_days": "x"}, {"prices": "no colon"}, {"markers": "noon switched"}, {"ttft_ms": "-5"}):
            answer = await client.post("/settings", data={**form, **wrong})
            assert answer.status_code == 422, wrong
            assert 'role="alert"' in answer.text


async def test_exports_are_complete_filtered_and_safe_for_spreadsheets(site: Site) -> None:
    first, second = recent_scene(site, 1, project="shop"), recent_scene(site, 2, project="=cmd|calc")
    for scene in (first, second):
        work(scene)
        await push(site, scene, agent=f"agent{scene.session}")
    async with site.client(site.secret) as client:
        everything = await client.get("/api/export?format=ndjson&range=1h")
        assert "attachment" in everything.headers["content-disposition"]
        found = [decode_event(line) for line in everything.text.splitlines()]
        assert sorted(found, key=_key) == sorted([*first.events, *second.events], key=_key)
        one = (await client.get("/api/export?range=1h&project=shop")).text.splitlines()
        assert {json.loads(line)["session"] for line in one} == {"sess_1"}
        agent = (await client.get("/api/export?range=1h&agent=agentsess_2")).text.splitlines()
        assert {json.loads(line)["source"] for line in agent} == {second.events[0].source}
        table = (await client.get("/api/export?format=csv&range=1h")).text
        rows = list(csv.DictReader(io.StringIO(table)))
        assert list(rows[0]) == list(columns())
        assert len(rows) == len(first.events) + len(second.events)
        assert "'=cmd|calc" in {row["project"] for row in rows}
        assert (await client.get("/api/export?format=xml")).status_code == 400
        old = (await client.get("/api/export?since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z")).text
        assert old == ""


def _key(event: Event | None) -> tuple[str, int]:
    assert event is not None
    return event.source, event.seq


async def test_following_gives_every_event_once_and_waits_for_more(site: Site) -> None:
    scene = recent_scene(site)
    work(scene)
    await push(site, scene)
    async with site.client(site.secret) as client:
        answer = await client.get("/api/events")
        assert answer.headers["content-type"].startswith("application/x-ndjson")
        got = [decode_event(line) for line in answer.text.splitlines()]
        assert got == scene.events
        cursor = answer.headers[CURSOR_HEADER]
        quiet = await client.get("/api/events", params={"after": cursor, "wait_s": "0.2"})
        assert (quiet.text, quiet.status_code) == ("", 200)
        sent = len(scene.events)
        work(scene)
        waiting = asyncio.create_task(
            client.get("/api/events", params={"after": quiet.headers[CURSOR_HEADER], "wait_s": "10"})
        )
        await asyncio.sleep(0.05)
        await push(site, scene)
        async with asyncio.timeout(8):
            more = await waiting
        assert [decode_event(line) for line in more.text.splitlines()] == scene.events[sent:]
        junk = await client.get("/api/events", params={"after": "junk", "wait_s": "nan", "since": "x"})
        assert len(junk.text.splitlines()) == len(scene.events)


async def test_trends_compare_before_and_after_and_transports(site: Site) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    marker = now - timedelta(minutes=30)
    for number, (transport, overhead_ms, ago_s) in enumerate((("http", 40.0, 3_000), ("websocket", 4.0, 900)), 1):
        scene = recent_scene(site, number, ago_s=ago_s)
        for index in range(60):
            scene.start_turn()
            call = scene.send(
                transport=transport, reuse="full_resend" if transport == "http" else "reused", bytes_full=5_000
            )
            total = overhead_ms + 50 + index % 7
            scene.wait(total)
            scene.complete(call, total, 50.0, ttft_ms=overhead_ms + 10, deltas=5, input_tokens=100, output_tokens=10)
            scene.finish_turn()
        await push(site, scene)
    async with site.client(site.secret) as client:
        page = (
            await client.get(
                f"/trends?range=1h&marker={marker.strftime('%Y-%m-%dT%H:%M:%SZ')}&label=switched", headers=HTML
            )
        ).text
        assert "switched" in page
        assert re.search(
            r"median overhead per call</b> 4\d ms → [5-9]\.\d ms, 95 % interval [34]\d ms to [34]\d ms less", page
        )
        assert "WebSocket against HTTP" in page
        assert "no clear change" in page or "median turn" in page
        data = (await client.get("/api/trends?range=1h")).json()
        compared = {one["title"]: one["difference"] for one in data["websocket_and_http"]}
        change = compared["median overhead per call"]
        assert change["low"] <= change["change"] <= change["high"] < 0
        saved = (await client.get("/api/reuse?range=1h")).json()
        assert saved["computed"] is True
        assert saved["outcomes"] == {"full_resend": 60, "reused": 60}
        assert saved["time_saved_ms"] == pytest.approx(60 * 36, rel=0.1)
        assert (await client.get("/trends?range=1h&transport=http&by=model", headers=HTML)).status_code == 200


async def test_errors_are_listed_filtered_and_paged(site: Site) -> None:
    scene = recent_scene(site)
    scene.start_turn()
    for number in range(130):
        call = scene.send(f"c{number}")
        scene.wait(1)
        scene.complete(call, 5.0, status="failed", error_code="rate_limited" if number % 2 else "server_error")
    await push(site, scene)
    async with site.client(site.secret, **HTML) as client:
        first = (await client.get("/errors")).text
        assert first.count("<tr data-severity") == 100
        [older] = re.findall(r'href="(/errors\?[^"]*before=\d+[^"]*)"', first)
        second = (await client.get(older.replace("&amp;", "&"))).text
        assert 30 <= second.count("<tr data-severity") <= 31
        only = (await client.get("/errors?code=rate_limited")).text
        assert only.count("<tr data-severity") == 65
        assert "server_error</a></td>" not in only


async def test_metrics_are_prometheus_with_exact_names_and_bounded_labels(site: Site) -> None:
    scene = recent_scene(site)
    work(scene)
    await push(site, scene, "blue")
    token = site.token("prometheus", "metrics", "blue")
    async with site.client(token) as client:
        answer = await client.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        text = answer.text
        assert (await client.get("/api/now")).status_code == 403
    labels = 'team="blue",gen_ai_request_model="gpt-5",transport="websocket"'
    assert f"gen_ai_client_inference_usage_input_tokens_total{{{labels}}} 6900" in text
    assert f"gen_ai_client_inference_duration_seconds_count{{{labels}}} 3" in text
    assert 'loopline_connection_state_total{team="blue",outcome="reused"} 2' in text
    for line in text.splitlines():
        assert re.fullmatch(r'#.*|[a-z_]+(\{([a-z_]+="[^"]*",?)*\})? [-+.\deE]+(inf)?', line), line
        assert "sess_" not in line
    buckets = [int(value) for value in re.findall(r"duration_seconds_bucket\{[^}]*gpt-5[^}]*\} (\d+)", text)]
    assert buckets == sorted(buckets[:15]) + buckets[15:]


async def test_what_is_too_old_or_wrong_in_a_url_is_the_default(site: Site) -> None:
    async with site.client(site.secret, **HTML) as client:
        for query in (
            "range=1000y", "since=x&until=y", "since=2026-11-30T10:00:00Z&until=2026-11-29T10:00:00Z", "by=password",
            "since=0001-01-01T00:00:00Z", "since=9999-12-31T23:59:59Z", "marker=9999-12-31T23:59:59Z", "range=&by=",
            "before=999999999999999999999", "since=1970-01-01T00:00:00Z", "model=" + "m" * 5_000,
        ):  # fmt: skip
            for path in ("/trends", "/reuse", "/errors"):
                assert (await client.get(f"{path}?{query}")).status_code == 200, (path, query)


async def test_signing_in_goes_where_it_was_asked_and_nowhere_else(site: Site) -> None:
    async with site.client(**HTML) as client:
        sent = await client.get("/trends?range=7d")
        assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=/trends%3Frange%3D7d")
        for onward, expected in (
            ("/trends?range=7d", "/trends?range=7d"), ("//evil.example", "/"), ("https://evil.example", "/"),
            ("/\\evil.example", "/"), ("/login", "/"), ("", "/"), ("/x\r\nSet-Cookie: a=b", "/"),
            ("javascript:alert(1)", "/"),
        ):  # fmt: skip
            answer = await client.post("/login", data={"token": site.secret, "next": onward})
            assert (answer.status_code, answer.headers["location"]) == (303, expected), onward
        refused = await client.post("/login", data={"token": "llh_wrong"})
        assert refused.status_code == 403
        assert "set-cookie" not in refused.headers
        assert "llh_wrong" not in refused.text


async def test_the_one_time_link_is_a_page_with_a_form(site: Site) -> None:
    async with site.client(**HTML) as client:
        for _ in range(3):
            page = await client.get(site.running.link)
            assert page.status_code == 200
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text))
        answer = await client.post("/login", data=fields)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert (await client.get("/")).status_code == 200
        client.cookies.clear()
        again = await client.post("/login", data=fields)
        assert again.status_code == 403
        assert "used already" in again.text
