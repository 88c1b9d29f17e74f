"""Providers by name: each profile reached as it is, its key at its own origin and nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_core.config.load import load
from agent_core.errors import ConfigError
from agent_core.hosting.session import HostOptions, host_session
from agent_core.keys import Keys
from agent_core.providers import PROVIDERS, provider_of
from agent_core.runtime.endpoint import choose
from agent_core.turns.events import Notice, SessionOpened, TurnEvent
from tests.support.engines.upstream_server import Answer, Upstream
from tests.support.system.cli import environment, loopline

LIST = Answer(body={"object": "list", "data": [{"id": "gpt-oss-120b"}, {"id": "own"}]})
WORDS = {"choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": "stop"}]}
NO_API = Answer(404, body={"error": {"message": "unknown path"}})


@asynccontextmanager
async def fake(**answers: Answer) -> AsyncIterator[Upstream]:
    """A provider that has Chat Completions and no Responses."""
    found = Upstream(answers={"/models": [LIST], "/chat/completions": [Answer(events=[WORDS, "[DONE]"])]}, asked=NO_API)
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    found.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        yield found
        server.close()


def configured(tmp_path: Path, text: str, **variables: str) -> dict[str, str]:
    env = {**environment(tmp_path / "home"), "LOOPLINE_KEYRING": "off", **variables}
    folder = Path(env["XDG_CONFIG_HOME"]) / "loopline"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)
    return env


def test_the_profiles_that_people_run_are_there() -> None:
    assert set(PROVIDERS) == {
        "openai", "azure", "openrouter", "groq", "cerebras", "deepseek", "mistral", "ollama", "llama-server", "vllm",
        "lmstudio", "litellm",
    }  # fmt: skip
    for name, provider in PROVIDERS.items():
        assert provider.source.startswith("https://"), name
        assert provider.base_url.endswith("/v1") or name == "azure"


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_a_profile_is_reached_with_its_own_key_and_no_other(tmp_path: Path, name: str) -> None:
    keys = {each.key_env: f"key-of-{other}" for other, each in PROVIDERS.items() if each.key_env}
    azure = '[providers.azure]\nbase_url = "https://mine.openai.azure.com/openai/v1"\nmodel = "gpt-5"\n'
    env = configured(tmp_path, f'base_url = "https://elsewhere.example/v1"\nprovider = "{name}"\n{azure}', **keys)
    settings = load(env=env).settings
    endpoint, provider = choose(settings, env), provider_of(name, settings.providers)
    url, key = endpoint.listed_at or ("", None)
    assert url == provider.base_url and "elsewhere" not in url
    assert key == (f"key-of-{name}" if provider.key_env else None)
    assert (endpoint.upstream is None) == (provider.wire == "responses")
    assert endpoint.defaulted == (name if provider.model else "")
    assert "key-of" not in repr(endpoint.upstream)
    said = load(env=env, flags={"base_url": "https://said.example/v1"}).settings
    assert choose(said, env).base_url == "https://said.example/v1"  # said for this very run


def test_a_kept_key_goes_to_the_providers_origin_alone(tmp_path: Path) -> None:
    env = configured(tmp_path, 'base_url = "https://elsewhere.example/v1"\n')
    done = loopline("auth", "set", "groq", env=env, stdin="gsk-secret\n")
    assert done.code == 0 and "https://api.groq.com alone" in done.out
    assert Keys(env).get("groq", "https://api.groq.com/openai/v1") == "gsk-secret"
    assert Keys(env).get("groq", "https://elsewhere.example/v1") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('provider = "nobody"', "one of azure"),
        ('provider = "azure"', "the address of your resource"),
        ('provider = "groq"', "a key of groq"),
        ('provider = "own"\n[providers.own]\nwire = "fax"', "a table of base_url"),
    ],
)
def test_what_is_missing_is_said_before_anything_starts(tmp_path: Path, text: str, said: str) -> None:
    env = configured(tmp_path, text)
    with pytest.raises(ConfigError) as refused:
        choose(load(env=env).settings, env)
    assert said in refused.value.message


async def _turn(folder: Path, env: dict[str, str], **flags: Any) -> list[TurnEvent]:
    (folder / "project").mkdir()
    options = HostOptions(roots=(folder / "project",), client="test", flags=flags, env=env)
    seen: list[TurnEvent] = []
    async with asyncio.timeout(90), host_session(options, observer=seen.append) as hosted:
        assert (await hosted.session.run_turn("hello")).text == "Hello."
    return seen


async def test_a_turn_over_chat_completions_with_the_providers_default_model(tmp_path: Path) -> None:
    async with fake() as upstream:
        table = f'[providers.cerebras]\nbase_url = "{upstream.url}"\n'
        env = configured(
            tmp_path, table, CEREBRAS_API_KEY="csk-one", LOOPLINE_UPSTREAM_KEY="two", OPENAI_API_KEY="three"
        )
        seen = await _turn(tmp_path, env, provider="cerebras", effort="low")
        headers = [found for path, found, _ in upstream.seen if path == "/chat/completions"]
        (body,) = upstream.bodies("/chat/completions")
    assert {found["authorization"] for found in headers} == {"Bearer csk-one"}
    assert (body["model"], body["reasoning_effort"]) == ("gpt-oss-120b", "low")
    (opened,) = [event for event in seen if isinstance(event, SessionOpened)]
    assert opened.endpoint == upstream.url.removesuffix("/v1")
    assert any("the default of cerebras" in event.text for event in seen if isinstance(event, Notice))


async def test_a_provider_of_ones_own_that_needs_no_key(tmp_path: Path) -> None:
    async with fake() as upstream:
        env = configured(tmp_path, f'[providers.mine]\nbase_url = "{upstream.url}"\n', LOOPLINE_UPSTREAM_KEY="two")
        await _turn(tmp_path, env, provider="mine", model="own")
        assert not any("authorization" in found for _, found, _ in upstream.seen)


async def test_models_and_doctor_ask_the_provider(tmp_path: Path) -> None:
    async with fake() as upstream:
        env = configured(tmp_path, f'provider = "mine"\n[providers.mine]\nbase_url = "{upstream.url}"\nmodel = "own"\n')
        listed = await asyncio.to_thread(loopline, "models", "--json", env=env)
        shown = await asyncio.to_thread(loopline, "models", env=env)
        checked = await asyncio.to_thread(loopline, "doctor", "--json", env=env)
    assert [(line["id"], line["family"], line["in_use"]) for line in listed.lines] == [
        ("gpt-oss-120b", "gpt-oss", False), ("own", None, True),
    ]  # fmt: skip
    assert "low, medium, high" in shown.out and "not known" in shown.out
    (line,) = [line for line in checked.lines if line.get("name") == "provider"]
    assert line["state"] == "ok" and "mine lists 2 models" in line["detail"]
