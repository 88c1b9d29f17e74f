"""Settings: what can't be used is refused with its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_core.clock import SystemClock
from agent_core.errors import ConfigError
from agent_core.responses_server.engines.registry import AbsentEngine, build_registry
from agent_core.responses_server.settings import ApiKey, ServeSettings
from agent_core.responses_server.store.factory import make_store
from agent_core.responses_server.store.port import MemoryStore
from agent_core.responses_server.store.sqlite import SqliteStore
from tests.support.service.running import settings


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"api_keys": ()}, "api-key"),
        ({"api_keys": (ApiKey("a", ""),)}, "api-key"),
        ({"without": frozenset({"speed"})}, "without"),
        ({"port": 70_000}, "port"),
        ({"connection_minutes": 0}, "connection-minutes"),
        ({"keepalive_s": -1}, "keepalive-s"),
    ],
)
def test_refusals(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(**changes)
    assert caught.value.key == key


def test_features() -> None:
    chosen = settings(without=frozenset({"digest"}))
    assert not chosen.has("digest")
    assert chosen.has("render-cache")


def test_no_key_shows_in_the_settings() -> None:
    assert "s3cret" not in repr(ServeSettings(api_keys=(ApiKey("a", "s3cret"),)))


def test_store_urls(tmp_path: Path) -> None:
    clock = SystemClock()
    assert isinstance(make_store(settings(), clock), MemoryStore)
    assert isinstance(make_store(settings(store="memory:"), clock), MemoryStore)
    assert isinstance(make_store(settings(state_dir=tmp_path), clock), SqliteStore)
    assert isinstance(make_store(settings(store=f"sqlite:///{tmp_path}/s.db"), clock), SqliteStore)
    for url in ("sqlite:", "sqlite:///", "mysql://secret@host/db"):
        with pytest.raises(ConfigError) as caught:
            make_store(settings(store=url), clock)
        assert "secret" not in caught.value.message


@pytest.mark.parametrize("spec", ["llama-of-the-future:x", "nothing", ""])
def test_engine_kinds_that_do_not_exist(spec: str) -> None:
    with pytest.raises(ConfigError):
        build_registry(settings(engines={"mine": spec}), SystemClock())


def test_models_that_always_exist() -> None:
    registry = build_registry(settings(), SystemClock())
    assert {"repair", "scripted"} <= set(registry.names)
    assert registry.find("scripted:slow") is registry.find("scripted")
    assert registry.find("gpt") is None


async def test_an_engine_that_is_missing_says_so() -> None:
    from agent_core.errors import EngineError

    engine = AbsentEngine("repair", "module x is missing")
    with pytest.raises(EngineError) as caught:
        async for _ in engine.stream(None):  # type: ignore[arg-type]
            pass
    assert caught.value.code == "engine_unavailable"
    assert "module x is missing" in caught.value.message
