from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.config import keep_setting, load
from agent_core.errors import StateError, UsageError
from agent_core.keys import Keys


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path), "LOOPLINE_KEYRING": "off"}


def test_a_kept_key_is_found_in_a_private_file_and_can_be_removed(env: dict[str, str], tmp_path: Path) -> None:
    Keys(env).set("openai", " sk-1 \n")
    file = tmp_path / "loopline" / "keys.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert Keys(env).get("openai") == "sk-1"
    assert Keys(env).source("openai") == str(file)
    assert Keys(env).remove("openai") and not Keys(env).remove("openai")
    assert Keys(env).get("openai") is None and Keys(env).source("openai") is None


def test_a_variable_wins(env: dict[str, str]) -> None:
    Keys(env).set("hub", "kept")
    with_variable = {**env, "LOOPLINE_HUB_TOKEN": "given"}
    assert Keys(with_variable).get("hub") == "given"
    assert Keys(with_variable).source("hub") == "variable LOOPLINE_HUB_TOKEN"


@pytest.mark.parametrize(
    ("name", "value"), [("Open AI", "sk-1"), ("", "sk-1"), ("../x", "sk-1"), ("openai", " "), ("openai", "sk 1")]
)
def test_what_is_no_name_or_no_key_is_refused_without_showing_it(env: dict[str, str], name: str, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        Keys(env).set(name, value)
    assert not value.strip() or value not in caught.value.message
    assert Keys(env).get("openai") is None


def test_a_damaged_file_is_named(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "loopline").mkdir()
    (tmp_path / "loopline" / "keys.json").write_text("{")
    with pytest.raises(StateError, match=r"keys\.json is damaged"):
        Keys(env).get("openai")


def test_what_commands_keep_is_read_as_the_users_and_trust_is_the_union(env: dict[str, str], tmp_path: Path) -> None:
    keep_setting(env, "trusted", ("/a", '/with "quotes" \\ and \x7f'))
    keep_setting(env, "hub.url", "https://hub.example")
    (tmp_path / "loopline" / "config.toml").write_text('trusted = ["/b"]\n')
    settings = load(env=env).settings
    assert settings.trusted == ("/a", '/with "quotes" \\ and \x7f', "/b")
    assert settings.hub_url == "https://hub.example"
    keep_setting(env, "hub.url", None)
    assert load(env=env).settings.hub_url is None
    assert load(env=env).settings.trusted[0] == "/a"
