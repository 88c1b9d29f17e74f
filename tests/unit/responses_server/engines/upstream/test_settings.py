from __future__ import annotations

import pytest

from agent_core.errors import ConfigError
from agent_core.responses_server.engines.upstream.settings import read_settings

URL = "http://127.0.0.1:11434/v1"


def test_a_url_and_a_model() -> None:
    settings = read_settings("far", f"{URL}/#qwen3:8b", {"key": "s3cret"})
    assert (settings.url, settings.model, settings.api) == (URL, "qwen3:8b", "auto")
    assert settings.all_headers == {"Authorization": "Bearer s3cret"}
    assert settings.address("/responses") == f"{URL}/responses"


def test_a_query_stays_behind_the_endpoint() -> None:
    settings = read_settings("far", "https://h/openai/v1?api-version=1#m", {})
    assert settings.address("/responses") == "https://h/openai/v1/responses?api-version=1"


def test_a_socket_url_means_a_socket() -> None:
    settings = read_settings("far", "wss://api.openai.com/v1#m", {})
    assert settings.api == "websocket"
    assert settings.address("/responses").startswith("https://")


def test_secrets_are_not_shown() -> None:
    settings = read_settings("far", f"{URL}?token=s3cret#m", {"key": "s3cret", "headers": {"X-Key": "s3cret"}})
    assert "s3cret" not in repr(settings)
    assert "s3cret" not in settings.place


@pytest.mark.parametrize(
    "spec", ["", URL, f"{URL}#", "ftp://h/v1#m", "127.0.0.1/v1#m", "http://u:p@h/v1#m", "http://h:x/v1#m"]
)
def test_specs_that_can_not_be(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"engines\.far"):
        read_settings("far", spec, {})


@pytest.mark.parametrize("options", [{"api": "soap"}, {"silence_s": 0}, {"kye": "x"}])
def test_options_that_can_not_be(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="options among"):
        read_settings("far", f"{URL}#m", options)


@pytest.mark.parametrize(
    ("url", "options", "known"),
    [
        ("https://api.openai.com/v1", {}, True),
        ("https://api.openai.com/v1", {"api": "chat"}, False),
        ("https://notopenai.com/v1", {}, False),
        (URL, {"custom_tools": True}, True),
    ],
)
def test_who_knows_free_form_tools(url: str, options: dict[str, object], known: bool) -> None:
    assert read_settings("far", f"{url}#m", options).knows_custom_tools is known
