from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.config.load import keep_setting, load
from agent_core.errors import StateError, UsageError
from agent_core.keys import Keys, origin_of

OPENAI = "https://api.openai.com/v1"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path), "LOOPLINE_KEYRING": "off"}


def test_a_kept_key_is_found_in_a_private_file_and_can_be_removed(env: dict[str, str], tmp_path: Path) -> None:
    Keys(env).set("openai", " sk-1 \n")
    file = tmp_path / "loopline" / "keys.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert Keys(env).get("openai", OPENAI) == "sk-1"
    assert Keys(env).source("openai") == str(file)
    assert Keys(env).remove("openai") and not Keys(env).remove("openai")
    assert Keys(env).get("openai", OPENAI) is None and Keys(env).source("openai") is None


def test_a_variable_wins(env: dict[str, str]) -> None:
    Keys(env).set("hub", "kept")
    with_variable = {**env, "LOOPLINE_HUB_TOKEN": "given"}
    assert Keys(with_variable).get("hub", "https://hub") == "given"
    assert Keys(with_variable).source("hub") == "variable LOOPLINE_HUB_TOKEN"


@pytest.mark.parametrize(
    ("name", "value"), [("Open AI", "sk-1"), ("", "sk-1"), ("../x", "sk-1"), ("openai", " "), ("openai", "sk 1")]
)
def test_what_is_no_name_or_no_key_is_refused_without_showing_it(env: dict[str, str], name: str, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        Keys(env).set(name, value)
    assert not value.strip() or value not in caught.value.message
    assert Keys(env).get("openai", OPENAI) is None


def test_a_damaged_file_is_named(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "loopline").mkdir()
    (tmp_path / "loopline" / "keys.json").write_text("{")
    with pytest.raises(StateError, match=r"keys\.json is damaged"):
        Keys(env).get("openai", OPENAI)


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


@pytest.mark.parametrize(
    ("set_for", "asked_for", "goes"),
    [
        (None, OPENAI, True),
        (None, "wss://api.openai.com/v1", True),
        (None, "https://API.openai.com:443/v1/", True),
        (None, "http://api.openai.com/v1", False),
        (None, "https://api.openai.com:8443/v1", False),
        (None, "https://api.openai.com.evil/v1", False),
        (None, "https://api.openai.com@evil/v1", False),
        (None, "https://evil/api.openai.com/v1", False),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/other", True),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8001/v1", False),
        ("http://127.0.0.1:8000/v1", "http://localhost:8000/v1", False),
        ("http://127.0.0.1:8000/v1", OPENAI, False),
        ("http://[::1]:8000/v1", "ws://[::1]:8000/v1", True),
    ],
)
def test_a_kept_key_goes_to_the_origin_it_was_set_for_and_to_no_other(
    env: dict[str, str], set_for: str | None, asked_for: str, goes: bool
) -> None:
    Keys(env).set("openai", "sk-1", set_for)
    assert Keys(env).get("openai", asked_for) == ("sk-1" if goes else None)
    assert Keys({**env, "OPENAI_API_KEY": "sk-2"}).get("openai", asked_for) == "sk-2"


def test_a_key_that_was_kept_before_origins_were_is_for_the_provider(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "loopline").mkdir()
    (tmp_path / "loopline" / "keys.json").write_text('{"openai": "sk-old", "hub": "t-old"}')
    keys = Keys(env)
    assert keys.get("openai", OPENAI) == "sk-old" and keys.get("openai", "https://gateway.example/v1") is None
    assert keys.get("hub", "https://hub.example") == "t-old"
    keys.set("hub", "t-new", "https://hub.example")
    assert keys.get("hub", "https://other.example") is None and keys.get("openai", OPENAI) == "sk-old"


def test_what_is_no_address_has_no_origin(env: dict[str, str]) -> None:
    for url in ("", "api.openai.com", "file:///etc", "https://", "https://h:port/", "http://[", "javascript:1"):
        assert origin_of(url) == ""
        if url:
            with pytest.raises(UsageError):
                Keys(env).set("openai", "sk-1", url)
