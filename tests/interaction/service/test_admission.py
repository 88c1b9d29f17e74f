"""Who gets in: keys, Host headers, and a WebSocket that is switched off; for HTTP and upgrades alike."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from agent_core.responses_server.settings import ApiKey
from tests.support.service.running import KEY, Running, connected, running_service


@pytest.fixture(scope="module")
def guarded() -> Iterator[Running]:
    keys = (ApiKey("one", KEY), ApiKey("two", "other-key"))
    with running_service(api_keys=keys, allowed_hosts=("box.example",)) as running:
        yield running


def with_host(running: Running, host: str) -> dict[str, str]:
    return {"Host": host.replace("PORT", str(urlsplit(running.url).port)), **running.headers}


async def upgrade_status(running: Running, headers: dict[str, str]) -> int:
    """101, or the status of the refusal. `Host` is what the request line's address would say."""
    host = headers.pop("Host", None)
    options = {} if host is None else {"host": "127.0.0.1", "port": urlsplit(running.url).port}
    url = running.ws_url if host is None else f"ws://{host}/v1/responses"
    try:
        async with connect(url, additional_headers=headers, open_timeout=10, **options):  # type: ignore[arg-type]
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


async def post_status(running: Running, headers: dict[str, str]) -> int:
    async with httpx.AsyncClient() as client:
        body = {"model": "scripted", "input": "go"}
        return (await client.post(f"{running.base_url}/responses", json=body, headers=headers)).status_code


@pytest.mark.rule("ws.auth")
@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer wrong", f"Basic {KEY}", KEY, f"Bearer {KEY}x"])
async def test_no_or_a_wrong_key(guarded: Running, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    assert await upgrade_status(guarded, dict(headers)) == 401
    assert await post_status(guarded, headers) == 401


@pytest.mark.rule("ws.auth")
@pytest.mark.parametrize("key", [KEY, "other-key"])
async def test_several_keys(guarded: Running, key: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    assert await upgrade_status(guarded, dict(headers)) == 101
    assert await post_status(guarded, headers) == 200


@pytest.mark.rule("ws.host")
@pytest.mark.parametrize("host", ["127.0.0.1:PORT", "localhost:PORT", "localhost", "box.example"])
async def test_hosts_let_in(guarded: Running, host: str) -> None:
    assert await upgrade_status(guarded, with_host(guarded, host)) == 101
    assert await post_status(guarded, with_host(guarded, host)) == 200


@pytest.mark.rule("ws.host")
@pytest.mark.parametrize("host", ["evil.example", "evil.example:PORT", "127.0.0.1.evil.example", "0.0.0.0:PORT"])
async def test_hosts_kept_out(guarded: Running, host: str) -> None:
    assert await upgrade_status(guarded, with_host(guarded, host)) == 403
    assert await post_status(guarded, with_host(guarded, host)) == 403
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"{guarded.url}/healthz", headers={"Host": "evil.example"})
    assert answer.status_code == 403


@pytest.mark.rule("ws.extensions")
async def test_no_subprotocol_is_chosen_and_compression_is_optional(guarded: Running) -> None:
    async with connected(guarded, subprotocols=["of-the-future"]) as socket:
        assert socket.connection.subprotocol is None
        await socket.response(input="go")
    async with connected(guarded, compression=None) as socket:
        await socket.response(input="go")


@pytest.mark.rule("ws.off")
async def test_a_service_without_websocket_says_426() -> None:
    """nick3/copilot-api#86, QuantumNous/new-api#3027: on 404 Codex burns all its retries, on 426 it goes by HTTP."""
    with running_service(websocket=False) as running:
        assert await upgrade_status(running, dict(running.headers)) == 426
        assert await upgrade_status(running, {}) == 401
        assert await post_status(running, dict(running.headers)) == 200
        async with httpx.AsyncClient(headers=running.headers) as client:
            answer = await client.get(f"{running.base_url}/responses")
        assert answer.status_code == 426
        assert answer.headers["upgrade"] == "websocket"
