"""OTLP over HTTP into a running hub: both forms, who may, what is answered, hostile exporters, a restart."""

from __future__ import annotations

import asyncio
import gzip
import importlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dashboard.hub.ingest.otlp import records
from dashboard.hub.ingest.otlp.records import JSON, PROTOBUF, Signal
from dashboard.hub.store.port import StoreError
from tests.support.hub.otlp import (
    GOLDEN,
    SECRET,
    export_body,
    protobuf,
    service_messages,
    signal_of,
    span,
    traces,
    turn_spans,
)
from tests.support.hub.push import finished, push
from tests.support.web.running import Site, running_site

NAMES = sorted(path.name for path in GOLDEN.glob("*.json"))


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as running:
        yield running


async def export(client: httpx.AsyncClient, body: Any, signal: Signal, *, media: str = JSON) -> httpx.Response:
    """Compressed, as exporters do where they are told to."""
    data = protobuf(body, signal) if media == PROTOBUF else json.dumps(body).encode()
    headers = {"content-type": media, "content-encoding": "gzip"}
    return await client.post(f"/v1/{signal}", content=gzip.compress(data), headers=headers)


async def usage(site: Site, by: str = "model") -> dict[str, tuple[int, int | None, int | None, int | None]]:
    async with site.client(site.secret) as client:
        rows = (await client.get(f"/api/usage?by={by}")).json()["rows"]
    return {row["name"]: tuple(row[name] for name in ("calls", *FIGURES)) for row in rows}


FIGURES = ("input_tokens", "cached_tokens", "output_tokens")
EXPECTED = {
    "scripted": (4, 8107 + 8176 + 10442 + 10494, 7418 + 8127 + 10466, 6 + 3 + 11 + 3),
    "claude-sonnet-4-5": (3, 21_312 + 21_608, 20_400 + 21_300, 305),
    "gpt-4o": (1, 410, 256, 50),
    "gpt-4o-2024-08-06": (1, 320, None, 41),
    "text-embedding-3-small": (1, 12, None, None),
}


@pytest.mark.parametrize("media", [JSON, PROTOBUF])
async def test_recorded_exports_are_shown_with_the_figures_that_they_tell(site: Site, media: str) -> None:
    """Each twice, as after an answer that got lost."""
    async with site.client(site.token("anna@laptop", "agent", "web")) as client:
        for name in [*NAMES, *NAMES]:
            answer = await export(client, export_body(name), signal_of(name), media=media)
            assert (answer.status_code, answer.headers["content-type"]) == (200, media)
            assert answer.content == (b"{}" if media == JSON else b"")
    assert await usage(site) == EXPECTED
    assert set(await usage(site, "person")) == {"anna"}
    async with site.client(site.secret) as client:
        now = (await client.get("/api/now")).json()
        pages = [(await client.get(f"/turns/{row['turn']}")).text for row in now["ended"] + now["running"]]
        exported = (await client.get("/api/export?range=30d&format=ndjson")).text
    assert {row["client"] for row in now["ended"]} == {"codex_exec", "github-copilot", "trip-planner"}
    assert SECRET not in "".join([*pages, exported, json.dumps(now)])
    assert all(part.find("calls") >= 0 for part in pages)


async def test_what_was_counted_before_a_restart_is_not_counted_again(tmp_path: Path) -> None:
    for _ in range(2):
        async with running_site(tmp_path) as site:
            token = site.ingest_token
            async with site.client(token) as client:
                for name in NAMES:
                    assert (await export(client, export_body(name), signal_of(name))).status_code == 200
            assert await usage(site) == EXPECTED


async def test_a_span_that_comes_after_its_turn_changes_the_turn(site: Site) -> None:
    first, *rest = turn_spans(3, 3)
    async with site.client(site.ingest_token) as client:
        await export(client, traces(rest), "traces")
        await export(client, traces([first]), "traces")
    async with site.client(site.secret) as client:
        (row,) = (await client.get("/api/now")).json()["ended"]
        told = (await client.get(f"/api/turns/{row['turn']}")).json()
    assert (row["calls"], row["status"]) == (3, "completed")
    assert [call["number"] for call in told["calls"]] == [1, 2, 3]
    assert all(call["origin"] == "reported" for call in told["calls"])
    assert sum(told["stages_ms"].values()) == pytest.approx(told["turn"]["duration_ms"])
    assert told["stages_ms"]["inference"] > 0
    assert told["stages_ms"]["client_tool"] == 30


@pytest.mark.parametrize("path", ["/v1/logs", "/v1/traces", "/v1/metrics"])
async def test_who_may_export(site: Site, path: str) -> None:
    async with site.client() as nobody, site.client(site.token("v", "viewer", "web")) as viewer:
        assert (await nobody.post(path, content=b"{}")).status_code == 401
        assert (await viewer.post(path, content=b"{}")).status_code == 403
    async with site.client(site.ingest_token, origin=site.url) as page, site.client(site.ingest_token) as agent:
        assert (await page.post(path, content=b"{}")).status_code == 403
        assert (await agent.post(path, content=b"{}", headers={"cookie": "a=b"})).status_code == 403
        assert (await agent.post(path, content=b"{}", headers={"content-type": JSON})).status_code == 200


async def test_what_is_left_out_is_told_as_a_partial_success(site: Site) -> None:
    body = traces([span(1, 1, 9, 0, 5, gen_ai__operation__name="chat"), {**span(1, 2, 9, 0, 5), "endTimeUnixNano": 0}])
    body["resourceSpans"][0]["scopeSpans"][0]["spans"][1]["attributes"] = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}
    ]
    async with site.client(site.ingest_token) as client:
        told = (await export(client, body, "traces")).json()
        assert told == {"partialSuccess": {"rejectedSpans": "1", "errorMessage": "values out of range"}}
        answer = await export(client, body, "traces", media=PROTOBUF)
    message = service_messages("traces").ExportTraceServiceResponse.FromString(answer.content)
    assert (message.partial_success.rejected_spans, message.partial_success.error_message) == (1, "values out of range")
    assert (await usage(site))[""][0] == 1


@pytest.mark.parametrize("half", ["\\ud83d", "a\\udce9.txt", "\\ude00\\ud83d"])
async def test_half_a_character_costs_itself_and_not_the_batch(site: Site, half: str) -> None:
    body = traces([span(1, 1, 9, 0, 5, gen_ai__operation__name="chat", gen_ai__request__model="HALF m")])
    content = json.dumps(body).replace("HALF", half).encode()
    async with site.client(site.ingest_token) as client:
        answer = await client.post("/v1/traces", content=content, headers={"content-type": JSON})
        assert (answer.status_code, answer.text) == (200, "{}")
    (row,) = (await usage(site)).values()
    assert row[0] == 1


async def test_refusals_are_a_status_that_exporters_read(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async with site.client(site.ingest_token) as client:
        bad = await client.post("/v1/traces", content=b"\xff", headers={"content-type": PROTOBUF})
        worse = await client.post("/v1/traces", content=b"{", headers={"content-type": JSON})
        plain = await client.post("/v1/traces", content=b"{}", headers={"content-type": "text/plain"})

        def full(*_: object) -> None:
            raise StoreError("no room", code="store_full")

        monkeypatch.setattr(site.hub.store, "write", full)
        later = await export(client, traces(turn_spans(1, 2)), "traces")
    assert (bad.status_code, worse.status_code, plain.status_code) == (400, 400, 415)
    status = importlib.import_module("google.rpc.status_pb2").Status.FromString(bad.content)
    assert (status.code, status.message) == (3, "the body is no OTLP message")
    assert worse.json() == {"code": 3, "message": "the body is no OTLP message"}
    assert (later.status_code, later.json()["code"]) == (503, 14)
    assert int(later.headers["retry-after"]) >= 1


async def test_a_hostile_exporter_is_refused_without_harm_to_others(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MAX_RECORDS", 500)
    bomb = gzip.compress(b" " * (64 << 20), 9)
    deep = b'{"resourceSpans":' * 50_000
    many = traces([span(number, number, 0, 0, 1, gen_ai__operation__name="invoke_agent") for number in range(1, 1500)])
    chat = {"gen_ai__operation__name": "chat"}
    crowd = {
        "resourceSpans": [
            traces([span(7_000, n, 1, 0, 1, **chat)], service__instance__id=n)["resourceSpans"][0]
            for n in range(1, 120)
        ]
    }
    names = traces([span(n, n, 1, 0, 1, gen_ai__request__model=f"m{n}\x1b[2J", **chat) for n in range(1, 300)])
    bad, right = site.token("evil", "agent", "red"), site.token("good", "agent", "blue")
    async with site.client(bad) as evil, site.client(right) as good:

        async def attack() -> list[int]:
            zipped = {"content-type": JSON, "content-encoding": "gzip"}
            answers = [
                await evil.post("/v1/traces", content=bomb, headers=zipped),
                await evil.post("/v1/logs", content=deep, headers={"content-type": JSON}),
                await evil.post("/v1/logs", content=b"\x0a\xff\xff\xff\x7f", headers={"content-type": PROTOBUF}),
                *[await export(evil, body, "traces") for body in (many, crowd, names)],
            ]
            return [answer.status_code for answer in answers]

        async def ours() -> list[int]:
            return [(await push(good, finished(number))).status_code for number in range(1, 8)]

        attacked, pushed = await asyncio.gather(attack(), ours())
    assert attacked == [413, 400, 400, 200, 200, 200]
    assert pushed == [200] * 7
    async with site.client(site.secret) as client:
        rows = (await client.get("/api/usage?by=team")).json()["rows"]
        assert {row["name"]: row["calls"] for row in rows} == {"blue": 21, "red": 50 + 299}
        red = (await client.get("/api/usage?by=model&team=red")).json()["rows"]
        assert len(red) <= 101
        assert "\x1b" not in json.dumps(red)


HUGE = json.loads("[" + "9" * 400 + "," + "-" + "9" * 400 + ', 1e308, "1e999", "\\u0662", 0.5, true]')


@pytest.mark.parametrize("huge", HUGE, ids=["digits", "negative", "float", "infinite", "arabic", "half", "true"])
async def test_numbers_that_can_not_be_are_told_and_harm_nothing(site: Site, huge: object) -> None:
    async with site.client(site.ingest_token) as client:
        for name in ("startTimeUnixNano", "endTimeUnixNano", "intValue", "doubleValue"):
            one = span(1, 1, 9, 0, 5, gen_ai__operation__name="chat")
            if name in one:
                one[name] = huge
            else:
                one["attributes"].append({"key": "gen_ai.usage.input_tokens", "value": {name: huge}})
            answer = await export(client, traces([one]), "traces")
            assert answer.status_code in (200, 400), (name, answer.text)


async def test_a_body_of_many_empty_parts_takes_no_memory(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not read is not decoded, and what is read is counted before."""
    monkeypatch.setattr(records, "MAX_OBJECTS", 1_000)
    many: Any = [[]] * 5_000
    parts: Any = [{}] * 5_000
    bodies: list[tuple[Signal, Any]] = [
        ("metrics", {"resourceMetrics": many}),
        ("traces", traces([{**span(1, 1, 9, 0, 5), "attributes": [{"key": "a", "value": {"kvlistValue": many}}]}])),
        ("traces", traces([{**span(1, 1, 9, 0, 5), "attributes": parts}])),
        ("logs", {"resourceLogs": parts}),
    ]
    async with site.client(site.ingest_token) as client:
        answers = [(await export(client, body, signal)).status_code for signal, body in bodies]
    assert answers == [200, 200, 413, 413]


async def test_people_and_agents_stand_on_one_footing(site: Site) -> None:
    people = {"anna@laptop": ("codex-0.171-logs.json",), "ben@desk": ("copilot-1.0.102-traces.json",)}
    for name, bodies in people.items():
        async with site.client(site.token(name, "agent", "web")) as client:
            for body in bodies:
                await export(client, export_body(body), signal_of(body))
    async with site.client(site.token("anna@ci", "agent", "web")) as client:
        await push(client, finished())
    async with site.client(site.secret) as client:
        told = (await client.get("/api/people?range=30d")).json()
        page = (await client.get("/people?range=30d&a=github-copilot&b=cli", headers={"accept": "text/html"})).text
        errors = (await client.get("/api/errors?client=codex_exec&person=anna")).json()
        now = (await client.get("/api/now")).json()
        exports = [
            (await client.get(f"/api/export?range=30d&format=ndjson&{only}")).text.splitlines()
            for only in ("client=codex_exec", "person=ben", "client=nobody")
        ]
    assert {row["name"]: (row["clients"], row["calls"]) for row in told["people"]} == {
        "anna": (["cli", "codex_exec"], 5),
        "ben": (["github-copilot"], 2),
    }
    assert {row["name"]: (row["origin"], row["people"]) for row in told["agents"]} == {
        "cli": ("measured", ["anna"]),
        "codex_exec": ("reported", ["anna"]),
        "github-copilot": ("reported", ["ben"]),
    }
    assert "different definitions. github-copilot: from the request to the first chunk; cli:" in page
    assert errors == {"errors": []}
    assert {(row["client"], row["person"]) for row in now["ended"] + now["running"]} == {
        ("cli", "anna"),
        ("codex_exec", "anna"),
        ("github-copilot", "ben"),
    }
    of_codex, of_ben, of_nobody = exports
    assert any('"client":"codex_exec/0.171.0"' in line for line in of_codex)
    assert sum('"type":"call.reported"' in line for line in of_codex) == 3
    assert sum('"type":"call.reported"' in line for line in of_ben) == 2
    assert not any('"type":"call.completed"' in line for line in of_codex + of_ben)
    assert of_nobody == []
