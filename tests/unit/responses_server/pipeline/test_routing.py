"""Routes are resolved once per connection; new engines void them; what stays the same is not made anew."""

from __future__ import annotations

import pytest

from agent_core.clock import SystemClock
from agent_core.errors import ConfigError, WireError
from agent_core.responses_server.engines.registry import EngineRegistry
from agent_core.responses_server.engines.scripted.engine import ScriptedEngine
from agent_core.responses_server.pipeline.routing import Router

FAR = {"far": "upstream:http://127.0.0.1:9/v1#one"}


def registry() -> EngineRegistry:
    return EngineRegistry({"scripted": ScriptedEngine(None, SystemClock())})


def test_a_name_is_looked_up_once() -> None:
    router = Router(registry())
    first = router.resolve("scripted")
    assert router.resolve("scripted") is first
    assert router.resolve("scripted:slow").engine is first.engine
    assert router.resolved == 2
    plain = Router(registry(), cached=False)
    plain.resolve("scripted")
    plain.resolve("scripted")
    assert plain.resolved == 2


def test_a_reload_voids_routes_and_keeps_what_is_the_same() -> None:
    engines = registry()
    router = Router(engines)
    with pytest.raises(WireError):
        router.resolve("far")
    before = engines.digest
    assert engines.replace(FAR, {}, start=False) == []
    assert engines.digest != before
    far = router.resolve("far").engine
    assert engines.replace(dict(FAR), {}, start=False) == []
    assert router.resolve("far").engine is far
    count = router.resolved
    assert engines.replace(FAR, {"far": {"key": "k"}}, start=False) == [far]
    assert router.resolve("far").engine is not far, "other options, another engine"
    assert router.resolved == count + 1
    (other,) = engines.replace({}, {}, start=False)
    assert other is not far
    with pytest.raises(WireError):
        router.resolve("far")
    assert engines.digest == before


@pytest.mark.parametrize("specs", [{"scripted": "upstream:http://127.0.0.1:9/v1#m"}, {**FAR, "odd": "kind:x"}])
def test_a_set_that_cant_be_used_changes_nothing(specs: dict[str, str]) -> None:
    engines = registry()
    engines.replace(FAR, {}, start=False)
    before, digest = engines.items(), engines.digest
    with pytest.raises(ConfigError):
        engines.replace(specs, {}, start=False)
    assert (engines.items(), engines.digest) == (before, digest)
