"""Where `loopline serve` finds its keys."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from agent_core.cli.serving.keys import read_keys
from agent_core.errors import ConfigError
from agent_core.responses_server.settings import ApiKey, KeyLimits
from tests.support.system.cli import environment, loopline

NONE = KeyLimits()
DIGEST = sha256(b"k-b").hexdigest()


def keys_file(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "keys.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def test_option_before_environment(capsys: pytest.CaptureFixture[str]) -> None:
    assert read_keys("k1", None, {"LOOPLINE_API_KEY": "k2"}, NONE) == (ApiKey("default", "k1"),)
    assert read_keys(None, None, {"LOOPLINE_API_KEY": " k2\n"}, NONE) == (ApiKey("default", "k2"),)
    assert capsys.readouterr().err == ""


def test_several_of_the_environment() -> None:
    found = read_keys(None, None, {"LOOPLINE_API_KEYS": "ci=k=1, bob=k2\n  eve=k3"}, NONE)
    assert found == (ApiKey("ci", "k=1"), ApiKey("bob", "k2"), ApiKey("eve", "k3"))


def test_a_file_with_limits(tmp_path: Path) -> None:
    text = f'[alice]\nkey = "k-a"\nrequests_per_minute = 3\n\n[bob]\nsha256 = "{DIGEST}"\n'
    shared = KeyLimits(connections=9, requests_per_minute=60)
    alice, bob = read_keys(None, keys_file(tmp_path, text), {}, shared)
    assert alice == ApiKey("alice", "k-a", "", KeyLimits(connections=9, requests_per_minute=3))
    assert bob == ApiKey("bob", "", DIGEST, shared)


def test_without_any_a_fresh_one_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    (key,) = read_keys(None, None, {}, NONE)
    assert len(key.key) > 30
    assert key.key in capsys.readouterr().err


@pytest.mark.parametrize(("text", "mode", "told"), [
    ('[a]\nkey = "k"\n', 0o644, True), ('[a]\nkey = "k"\n', 0o600, False),
    (f'[a]\nsha256 = "{DIGEST}"\n', 0o644, False),
])  # fmt: skip
def test_a_file_that_others_can_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, mode: int, told: bool
) -> None:
    read_keys(None, keys_file(tmp_path, text, mode), {}, NONE)
    assert ("others can read" in capsys.readouterr().err) is told


@pytest.mark.parametrize("text", [
    "not toml s3cret", '[a]\nkey = "s3cret"\nsha256 = "0"\n', "[a]\n", '[a]\nsha256 = "s3cret"\n', 'a = "s3cret"\n',
    '[a]\nkey = "s3cret"\nspeed = 3\n', '[a]\nkey = "s3cret"\nconnections = -1\n',
    '[a]\nkey = "s3cret"\nconnections = "s3cret"\n',
])  # fmt: skip
def test_a_file_that_does_not_fit_is_named_without_its_keys(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_keys(None, keys_file(tmp_path, text), {}, NONE)
    assert "keys.toml" in caught.value.message
    assert "s3cret" not in caught.value.message


def test_no_file_and_bad_variable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        read_keys(None, tmp_path / "none.toml", {}, NONE)
    for value in ("s3cret", "=s3cret", "a="):
        with pytest.raises(ConfigError) as caught:
            read_keys(None, None, {"LOOPLINE_API_KEYS": value}, NONE)
        assert "s3cret" not in caught.value.message


def test_two_keys_of_one_name_are_refused_by_the_command(tmp_path: Path) -> None:
    path = keys_file(tmp_path, '[default]\nkey = "k"\n')
    done = loopline("serve", "--api-key", "x", "--keys", str(path), env=environment(tmp_path))
    assert done.code == 2
    assert "different names" in done.err


def test_the_command_says_what_there_is(tmp_path: Path) -> None:
    said = loopline("serve", "--help", env=environment(tmp_path)).out
    for option in ("--keys", "--connections", "--requests-per-minute", "--tokens-per-minute", "--log-level"):
        assert option in said
    assert "LOOPLINE_API_KEYS" in said


def test_a_limit_that_is_none_is_named_by_its_option(tmp_path: Path) -> None:
    done = loopline("serve", "--connections", "-1", env=environment(tmp_path))
    assert done.code == 2
    assert "--connections: expected" in done.err
