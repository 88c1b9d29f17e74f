from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_core.cli.serving.command import UPSTREAM_KEY, read_engines
from agent_core.errors import ConfigError, UsageError
from agent_core.responses_server.settings import ApiKey, ServeSettings
from tests.support.system.cli import environment, loopline

FAR = "upstream:http://h/v1#m"


def test_engines_of_the_configuration_and_of_the_command_line() -> None:
    tables: dict[str, dict[str, Any]] = {"kept": {"spec": "llama:a.gguf", "slots": 2}, "idle": {"slots": 1}}
    specs, options = read_engines(("own=llama:b.gguf", "kept=llama:c.gguf"), tables, {})
    assert specs == {"kept": "llama:c.gguf", "own": "llama:b.gguf"}
    assert options["kept"] == {"slots": 2}


def test_the_key_of_the_environment_is_for_upstreams_without_their_own() -> None:
    tables = {"mine": {"spec": FAR, "key": "own-key"}}
    _, options = read_engines((f"far={FAR}", "local=llama:a.gguf"), tables, {UPSTREAM_KEY: " env-key \n"})
    assert (options["mine"]["key"], options["far"]["key"]) == ("own-key", "env-key")
    assert "local" not in options


@pytest.mark.parametrize("option", ["local", "=llama:a", "local="])
def test_options_that_can_not_be(option: str) -> None:
    with pytest.raises(UsageError, match="NAME=KIND:SPEC"):
        read_engines((option,), {}, {})


def test_a_spec_that_is_no_text() -> None:
    with pytest.raises(ConfigError, match=r"engines\.x\.spec"):
        read_engines((), {"x": {"spec": 5}}, {})


def test_settings_are_shown_without_keys() -> None:
    settings = ServeSettings(
        api_keys=(ApiKey("a", "k3y"),), engines={"far": FAR}, engine_options={"far": {"key": "k3y"}}
    )
    assert "k3y" not in repr(settings)


@pytest.mark.parametrize(
    ("option", "said"),
    [("x=soap:y", "one of the kinds"), ("x=upstream:nowhere", "upstream:URL#MODEL"), ("repair=llama:a", "not taken")],
)
def test_what_can_not_be_served_is_told_before_listening(tmp_path: Path, option: str, said: str) -> None:
    done = loopline("serve", "--engine", option, env=environment(tmp_path))
    assert done.code == 2
    assert said in done.err
