"""Operating the service: keys, their limits on both transports, metrics, probes, the ledger, pauses asked for."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from agent_core.responses_server.settings import ApiKey, KeyLimits
from agent_core.wire.errors import to_exception
from agent_core.wire.response import ResponseError
from tests.support.engines.upstream_server import Answer, upstream
from tests.support.service.running import KEY, Running, child_service, connected, http_client, playing, running_service
from tests.support.system.waiting import eventually

CALL = {"model": "scripted", "input": "go", "store": False}


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def sample(text: str, name: str) -> float:
    """The value of one sample; `name` with its labels."""
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found.group(1)) if found is not None else 0.0


async def post(running: Running, **changes: Any) -> httpx.Response:
    async with http_client(running) as client:
        return await client.post("/responses", json={**CALL, **changes})


async def metrics(running: Running) -> str:
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"{running.url}/metrics", headers=running.headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    return answer.text


@pytest.mark.rule("keys.several")
async def test_several_keys_each_by_its_name() -> None:
    keys = (ApiKey("alice", "k-a"), ApiKey("bob", "", sha256(b"k-b").hexdigest()))
    with running_service(api_keys=keys) as running:
        for key, status in (("k-a", 200), ("k-b", 200), ("k-c", 401), (keys[1].sha256, 401)):
            async with httpx.AsyncClient(headers=bearer(key)) as client:
                assert (await client.post(f"{running.base_url}/responses", json=CALL)).status_code == status
        totals = await on_loop_of(running, "totals")
    assert {name: total.responses for name, total in totals.items()} == {"alice": 1, "bob": 1}


async def on_loop_of(running: Running, query: str, *arguments: Any) -> Any:
    """A ledger in memory can be asked from anywhere once everything is settled."""
    ledger = running.service.pipeline.settlement.ledger
    await eventually(lambda: ledger.pending == 0)
    return await getattr(ledger, query)(*arguments)


@pytest.mark.rule("limits.requests")
async def test_requests_above_the_limit_over_http() -> None:
    with running_service(key_limits=KeyLimits(requests_per_minute=1)) as running:
        assert (await post(running)).status_code == 200
        for stream in (False, True):
            answer = await post(running, stream=stream)
            assert answer.status_code == 429
            error = answer.json()["error"]
            assert (error["code"], error["type"]) == ("rate_limit_exceeded", "rate_limit_error")
            assert "key 'test'" in error["message"]
            assert 1 <= int(answer.headers["retry-after"]) <= 60
            assert 0 < int(answer.headers["retry-after-ms"]) <= 60_000
        assert sample(await metrics(running), 'loopline_service_limited_total{key="test",limit="requests"}') == 2


@pytest.mark.rule("limits.requests")
async def test_requests_above_the_limit_over_websocket_are_told_in_their_lane() -> None:
    with running_service(key_limits=KeyLimits(requests_per_minute=1)) as running:
        async with connected(running) as socket:
            await socket.response(input="go")
            await socket.create(input="go", stream_id="a")
            error = await socket.read()
            assert (error["type"], error["status"], error["stream_id"]) == ("error", 429, "a")
            assert error["error"]["code"] == "rate_limit_exceeded"
            assert 1 <= int(error["error"]["headers"]["retry-after"]) <= 60


@pytest.mark.rule("limits.requests")
async def test_questions_about_a_context_count_as_requests() -> None:
    with running_service(key_limits=KeyLimits(requests_per_minute=1)) as running:
        async with http_client(running) as client:
            statuses = [(await client.post(f"/responses/{way}", json=CALL)).status_code for way in
                        ("input_tokens", "input_tokens", "compact")]  # fmt: skip
    assert statuses == [200, 429, 429]


@pytest.mark.rule("limits.connections")
async def test_connections_above_the_limit_are_refused_before_the_upgrade() -> None:
    with running_service(key_limits=KeyLimits(connections=1)) as running:
        async with connected(running) as socket:
            with pytest.raises(InvalidStatus) as caught:
                async with connected(running):
                    pass
            answer = caught.value.response
            assert answer.status_code == 429
            assert answer.headers["retry-after"] == "1"
            assert json.loads(answer.body or b"")["error"]["code"] == "rate_limit_exceeded"
            async with http_client(running) as client:
                assert (await client.post("/responses", json=CALL)).status_code == 429
            await socket.response(input="go")
        await eventually(lambda: not running.service.live)
        async with connected(running) as socket:
            await socket.response(input="go")


@pytest.mark.rule("limits.tokens")
async def test_tokens_of_a_response_count_before_its_client_can_ask_again() -> None:
    with running_service(key_limits=KeyLimits(tokens_per_minute=30)) as running:
        async with connected(running) as socket:
            usage = (await socket.response(input="some words " * 20))["usage"]
            assert usage["total_tokens"] > 30
            error = await socket.call(input="go")
            assert (error["status"], error["error"]["code"]) == (429, "rate_limit_exceeded")
            assert "tokens of key" in error["error"]["message"]
        assert (await post(running)).status_code == 429


@pytest.mark.rule("limits.tokens")
async def test_who_leaves_early_does_not_go_free(tmp_path: Path) -> None:
    rollout = {"steps": [{"output": [{"text": "a " * 60}, {"pause_ms": 60_000}, {"text": "b"}]}]}
    with playing(tmp_path, rollout, key_limits=KeyLimits(tokens_per_minute=50)) as running:
        async with connected(running) as socket:
            await socket.create(input="go", store=False)
            for _ in range(50):
                await socket.read()
        await eventually(lambda: not running.service.live)
        assert (await post(running)).status_code == 429


@pytest.mark.rule("limits.engine")
async def test_a_pause_that_an_engine_asks_for_reaches_the_client() -> None:
    body = {"error": {"message": "slowly", "code": None, "type": "x"}}
    async with upstream(chat=Answer(429, body=body, headers={"Retry-After": "7"})) as far:
        options = {"far": {"key": "k", "api": "chat"}}
        with running_service(engines={"far": f"upstream:{far.url}#m"}, engine_options=options) as running:
            async with connected(running) as socket:
                last = await socket.call(model="far", input="go", store=False)
    error = last["response"]["error"]
    assert error["headers"] == {"retry-after": "7", "retry-after-ms": "7000"}
    exception = to_exception(ResponseError(**error))
    assert getattr(exception, "retry_after_s", None) == 7.0


@pytest.mark.rule("metrics.told")
async def test_metrics_want_a_key_and_tell_what_happened() -> None:
    with running_service() as running:
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"{running.url}/metrics")).status_code == 401
        async with connected(running) as socket:
            await socket.response(input="go", model="scripted")
            assert (await socket.call(input=[{"type": "x" * 99}]))["type"] in ("error", "response.completed")
            await socket.call(model="no such model")
            text = await eventually_metrics(running, 'loopline_service_errors_total{code="invalid_request"}')
            assert sample(text, 'loopline_service_connections{transport="websocket"}') == 1
        responses = 'loopline_service_responses_total{gen_ai_request_model="scripted",status="completed"}'
        assert sample(text, responses) >= 1
        assert sample(text, 'loopline_service_auth_refused_total{reason="key"}') == 1
        assert "no such model" not in text
        assert sample(text, "loopline_service_draining") == 0
        assert sample(text, "process_resident_memory_bytes") > 10_000_000


async def eventually_metrics(running: Running, name: str) -> str:
    async with asyncio.timeout(10):
        while True:
            text = await metrics(running)
            if sample(text, name):
                return text
            await asyncio.sleep(0.01)


@pytest.mark.rule("metrics.told")
async def test_probes_need_no_key() -> None:
    with running_service() as running:
        await eventually(lambda: running.service.pipeline.tokenizer.loaded)
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"{running.url}/healthz")).json() == {"status": "ok"}
            assert (await client.get(f"{running.url}/readyz")).status_code == 200
            running.service.draining = True
            assert (await client.get(f"{running.url}/readyz")).status_code == 503
            late = await client.post(f"{running.base_url}/responses", json=CALL, headers=running.headers)
            assert (late.status_code, late.headers["retry-after"]) == (503, "1")
            with pytest.raises(InvalidStatus) as caught:
                async with connected(running):
                    pass
            answer = caught.value.response
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert (await client.get(f"{running.url}/healthz")).status_code == 200


@pytest.mark.rule("ledger.whole")
async def test_every_way_to_end_is_in_the_ledger(tmp_path: Path) -> None:
    steps = [{"output": [{"text": "a b c d"}], "tokens_per_s": 1_000_000}]
    failing = [{"output": [{"text": "a "}, {"fail": {"code": "engine_failed", "message": "x"}}]}]
    slow = [{"output": [{"text": "a "}, {"pause_ms": 60_000}, {"text": "b"}]}]
    for rollout, expected in ((steps, "completed"), (failing, "failed"), (slow, "cancelled"), (slow, "abandoned")):
        with playing(tmp_path, {"steps": rollout}) as running:
            async with connected(running) as socket:
                await socket.create(input="go", store=False)
                created = await socket.read()
                if expected in ("cancelled", "abandoned"):
                    await socket.read_until("response.output_text.delta")
                if expected == "cancelled":
                    await socket.send({"type": "response.cancel"})
                if expected != "abandoned":
                    await socket.finish()
            found = await on_loop_of(running, "find", created["response"]["id"])
            assert (found.status, found.intent.key, found.intent.model) == (expected, "test", "scripted")
            assert found.cost_nano in (0, None)
            if expected == "completed":
                assert found.input_tokens
                assert found.output_tokens == 4


@pytest.mark.rule("ledger.whole")
async def test_a_response_has_its_price() -> None:
    prices = {"scripted": {"input": 2.0, "output": 10.0}}
    with running_service(prices=prices) as running:
        async with connected(running) as socket:
            response = await socket.response(input="some words", store=False)
        found = await on_loop_of(running, "find", response["id"])
    usage = response["usage"]
    assert found.cost_nano == usage["input_tokens"] * 2_000 + usage["output_tokens"] * 10_000


@pytest.mark.rule("ledger.first")
async def test_a_refused_request_is_no_admitted_response() -> None:
    with running_service() as running:
        async with connected(running) as socket:
            assert (await socket.call(model="none"))["type"] == "error"
        assert await on_loop_of(running, "totals") == {}


@pytest.mark.rule("ledger.first")
async def test_nothing_is_answered_that_could_not_be_accounted_for(tmp_path: Path) -> None:
    (tmp_path / "ledger.intents").write_text("in the way of the folder")
    with running_service(state_dir=tmp_path) as running:
        async with connected(running) as socket:
            error = await socket.call(input="go")
            assert (error["type"], error["status"], error["error"]["code"]) == ("error", 503, "server_is_overloaded")
            assert error["error"]["headers"]["retry-after"] == "5"
            assert str(tmp_path) not in json.dumps(error)
            (tmp_path / "ledger.intents").unlink()
            await socket.response(input="go")
        answer = await post(running)
        assert answer.status_code == 200


@pytest.mark.rule("end.settled")
async def test_a_signal_settles_what_ran(tmp_path: Path) -> None:
    state = tmp_path / "state"
    rollout = tmp_path / "rollout.json"
    rollout.write_text(json.dumps({"steps": [{"output": [{"text": "a "}, {"pause_ms": 300}, {"text": "b"}]}]}))
    async with child_service(tmp_path, state_dir=state, rollout_file=rollout) as child:
        async with connected(child.running) as socket:
            await socket.create(input="go")
            created = await socket.read()
            await socket.read_until("response.output_text.delta")
            child.process.send_signal(signal.SIGTERM)
            assert (await socket.finish())[-1]["type"] == "response.completed"
            assert await socket.closed() == (1001, "server shutting down")
        assert await child.ended() == 0
    with closing(sqlite3.connect(state / "ledger.db")) as ledger:
        rows = ledger.execute("SELECT response_id, state, status, key FROM ledger").fetchall()
    assert rows == [(created["response"]["id"], "settled", "completed", "test")]
    assert list((state / "ledger.intents").iterdir()) == []


@pytest.mark.rule("end.settled")
async def test_a_signal_lets_a_stream_over_http_end(tmp_path: Path) -> None:
    rollout = tmp_path / "rollout.json"
    rollout.write_text(json.dumps({"steps": [{"output": [{"text": "a "}, {"pause_ms": 300}, {"text": "b"}]}]}))
    async with child_service(tmp_path, rollout_file=rollout) as child:
        body, asked = "", {**CALL, "stream": True}
        async with http_client(child.running) as client, client.stream("POST", "/responses", json=asked) as answer:
            async for text in answer.aiter_text():
                if not body:
                    child.process.send_signal(signal.SIGTERM)
                body += text
        assert body.rstrip().endswith("data: [DONE]")
        assert "event: response.completed" in body
        assert await child.ended() == 0


@pytest.mark.rule("log.lines")
async def test_the_log_has_a_line_per_response_and_nothing_that_was_said(tmp_path: Path) -> None:
    async with child_service(tmp_path, log_level="info", state_dir=tmp_path / "state") as child:
        async with connected(child.running) as socket:
            response = await socket.response(input="the secret words", instructions="more secrets")
        child.process.send_signal(signal.SIGTERM)
        assert await child.ended() == 0
        assert child.process.stderr is not None
        said = (await child.process.stderr.read()).decode()
    lines = [json.loads(line) for line in said.splitlines()]
    assert [line["key"] for line in lines if line["event"] == "connection closed"] == ["test"]
    (line,) = [line for line in lines if line["event"] == "response"]
    assert (line["response_id"], line["key"], line["status"]) == (response["id"], "test", "completed")
    assert line["input_tokens"] == response["usage"]["input_tokens"]
    assert "secret" not in said
    assert KEY not in said
