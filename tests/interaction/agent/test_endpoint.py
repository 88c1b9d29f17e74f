"""Which service and model a session talks to, and what the model port is told of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_core.config.settings import Settings
from agent_core.errors import AuthError, ConfigError, HandshakeRefused, ServiceUnreachable
from agent_core.keys import Keys
from agent_core.runtime.connect import compacts_in_band, create_options, model_settings, shown
from agent_core.runtime.embedded import Embedded
from agent_core.runtime.endpoint import Endpoint, choose, completed
from agent_core.runtime.models import MAX_BYTES, list_models
from agent_core.transport.urls import websocket_url
from agent_core.transport.websocket import WebSocket
from tests.support.service.running import KEY, running_service

HOME = {"XDG_CONFIG_HOME": "/nonexistent", "XDG_STATE_HOME": "/nonexistent"}


@asynccontextmanager
async def listing(
    models: list[Any] | bytes | None, status: int = 200, said_bytes: int | None = None
) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that lists `models`, whatever it is asked; its base URL and the heads of the requests. `said_bytes`: the
    length that it states, None for the true one."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        body = (
            b"<html>"
            if models is None
            else json.dumps({"object": "list", "data": models}).encode()
            if isinstance(models, list)
            else models
        )
        length = len(body) if said_bytes is None else said_bytes
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", asked


def test_settings_and_keys_choose_the_service() -> None:
    assert choose(Settings(), HOME) == Endpoint(
        base_url=None, model="repair", note="a search over program edits, no model"
    )
    openai = choose(Settings(), HOME | {"OPENAI_API_KEY": "sk-1"})
    assert (openai.base_url, openai.api_key) == ("https://api.openai.com/v1", "sk-1") and openai.model
    own = choose(Settings(base_url="http://h/v1", model="m"), HOME | {"OPENAI_API_KEY": "sk-1"})
    assert (own.base_url, own.model, own.api_key) == ("http://h/v1", "m", "sk-1")
    embedded = choose(Settings(base_url="", model="m"), HOME | {"OPENAI_API_KEY": "sk-1"})
    assert (embedded.base_url, embedded.model) == (None, "m")


async def test_the_only_model_of_a_service_is_taken() -> None:
    async with listing([{"id": "qwen", "object": "model"}]) as (url, asked):
        found = await completed(choose(Settings(base_url=url), HOME | {"OPENAI_API_KEY": "sk-1"}))
    assert found.model == "qwen"
    assert asked[0].startswith(b"GET /v1/models ") and b"authorization: bearer sk-1" in asked[0].lower()


async def test_several_models_are_named_in_the_error() -> None:
    with running_service() as service:
        endpoint = choose(Settings(base_url=service.base_url), HOME | {"OPENAI_API_KEY": KEY})
        with pytest.raises(ConfigError) as caught:
            await completed(endpoint)
    assert "repair" in caught.value.message and "scripted" in caught.value.message
    assert caught.value.hint == "add --model NAME" and caught.value.exit_code == 2


async def test_a_model_that_is_named_is_not_asked_for() -> None:
    async with listing([]) as (url, asked):
        assert (await completed(choose(Settings(base_url=url, model="m"), HOME))).model == "m"
    assert asked == []


@pytest.mark.parametrize(
    ("models", "status", "error"),
    [
        ([], 200, ConfigError),
        (None, 200, ServiceUnreachable),
        (None, 404, ServiceUnreachable),
        (None, 401, AuthError),
        ([{"object": "model"}, None, {"id": ""}], 200, ConfigError),
        (b"", 200, ServiceUnreachable),
        (b'{"error":{"message":"no"}}', 200, ServiceUnreachable),
        (b"[" * 100_000, 200, ServiceUnreachable),
        (b"\xff\xfe\x00", 200, ServiceUnreachable),
    ],
)
async def test_a_service_that_does_not_say_is_an_error(models: Any, status: int, error: type[Exception]) -> None:
    async with listing(models, status) as (url, _):
        with pytest.raises(error) as caught:
            await completed(choose(Settings(base_url=url), HOME))
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        b'{"models":[{"name":"m","model":"m"}]}',
        b'[{"id":"m"}]',
        b'{"data":[{"name":"m"}]}',
        b'{"data":{"models":["m"]}}',
        b'{"data":[{"id":"m","owned_by":"caf\xe9"}]}',
    ],
)
async def test_lists_in_other_forms_name_the_model_too(body: bytes) -> None:
    async with listing(body) as (url, _):
        assert (await completed(choose(Settings(base_url=url), HOME))).model == "m"


async def test_a_list_that_breaks_off_or_never_ends_is_told() -> None:
    async with listing(b'{"data":[{"id":"m"}]', said_bytes=99) as (url, _):
        with pytest.raises(ServiceUnreachable, match="no list of models"):
            await completed(choose(Settings(base_url=url), HOME))
    async with listing(b" " * (MAX_BYTES + 1)) as (url, _):
        with pytest.raises(ServiceUnreachable, match="longer than 32 MiB"):
            await completed(choose(Settings(base_url=url), HOME))


async def test_a_long_list_is_read_whole() -> None:
    rows = [{"id": f"m{i}", "description": "x" * 2000} for i in range(4000)]
    async with listing(rows) as (url, _):
        assert len(await list_models(url, None)) == 4000


async def test_a_proxy_stands_not_before_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with listing([{"id": "m"}]) as (url, _):
        assert [entry.id for entry in await list_models(url, None)] == ["m"]


def test_what_the_model_port_is_told() -> None:
    own = model_settings(
        Endpoint(base_url=None, model="repair"), Embedded("http://127.0.0.1:1/v1", "k", 1), Settings(), "s"
    )
    assert own.own_service and own.grants_lanes and shown(own) == "ws://127.0.0.1:1"
    other = model_settings(
        Endpoint(base_url="https://h:8/v1?x=secret", model="m"), None, Settings(transport="http"), "s"
    )
    assert not other.own_service and shown(other) == "https://h:8"


def test_only_openai_is_asked_for_what_not_every_service_knows() -> None:
    openai = Endpoint(base_url="https://api.openai.com/v1", model="gpt-5.5")
    other = Endpoint(base_url="https://h/v1", model="m")
    assert create_options(openai, Settings(compact_at=9), "sess_1") == {
        "prompt_cache_key": "sess_1",
        "context_management": [{"type": "compaction", "compact_threshold": 9}],
    }
    assert (
        create_options(other, Settings(), "sess_1")
        == create_options(Endpoint(base_url=None, model="m"), Settings(), "s")
        == {}
    )
    assert compacts_in_band(other, Settings(compact_by="service"))
    assert not compacts_in_band(openai, Settings(compact_by="local"))
    assert not compacts_in_band(openai, Settings(compact_at=0))


async def test_a_redirect_takes_no_key_along() -> None:
    """Neither the list of models nor the WebSocket goes on to another address."""
    async with listing([{"id": "thief"}]) as (elsewhere, taken):

        async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            head = (
                f"HTTP/1.1 302 Found\r\nLocation: {elsewhere}/models\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(redirect, "127.0.0.1", 0)
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
            with pytest.raises(ServiceUnreachable, match="302"):
                await list_models(url, "sk-1")
            with pytest.raises(HandshakeRefused) as refused:
                await WebSocket.open(websocket_url(url), {"Authorization": "Bearer sk-1"})
            assert refused.value.status == 302
        assert taken == []


def test_a_kept_key_stays_with_its_service(tmp_path: Path) -> None:
    env = {**HOME, "XDG_CONFIG_HOME": str(tmp_path), "LOOPLINE_KEYRING": "off"}
    Keys(env).set("openai", "sk-kept")
    assert choose(Settings(), env).api_key == "sk-kept"
    assert choose(Settings(base_url="http://evil/v1", model="m"), env).api_key is None
    Keys(env).set("openai", "sk-own", "http://gateway:8080/v1")
    assert choose(Settings(base_url="http://gateway:8080/v1", model="m"), env).api_key == "sk-own"
    assert choose(Settings(), env).base_url is None  # no key for OpenAI: the embedded service
