"""Both URLs from one base URL."""

from __future__ import annotations

import pytest

from agent_core.errors import ConfigError
from agent_core.transport.urls import compact_url, http_url, is_loopback, models_url, websocket_url


@pytest.mark.parametrize(
    ("base", "post", "upgrade"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1/responses", "wss://api.openai.com/v1/responses"),
        ("http://127.0.0.1:80/v1/", "http://127.0.0.1:80/v1/responses", "ws://127.0.0.1:80/v1/responses"),
        ("wss://host/v1", "https://host/v1/responses", "wss://host/v1/responses"),
        ("ws://host", "http://host/responses", "ws://host/responses"),
        (
            "https://h/o?api-version=1&x=",
            "https://h/o/responses?api-version=1&x=",
            "wss://h/o/responses?api-version=1&x=",
        ),
        ("http://[::1]:8/v1#top", "http://[::1]:8/v1/responses", "ws://[::1]:8/v1/responses"),
    ],
)
def test_responses_is_appended_and_the_query_kept(base: str, post: str, upgrade: str) -> None:
    assert (http_url(base), websocket_url(base)) == (post, upgrade)


@pytest.mark.parametrize(
    "base", ["", "api.openai.com/v1", "ftp://h/v1", "http://", "http://h:0", "http://h:x", "https://me:key@h/v1"]
)
def test_what_is_no_address_is_a_configuration_error_that_does_not_repeat_it(base: str) -> None:
    with pytest.raises(ConfigError) as caught:
        websocket_url(base)
    assert caught.value.key == "base_url"
    assert "key@" not in caught.value.message


@pytest.mark.parametrize(
    ("base", "local"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]/v1", True),
        ("http://10.0.0.1/v1", False),
        ("https://localhost.example.com/v1", False),
    ],
)
def test_loopback_is_told_by_the_host(base: str, local: bool) -> None:
    assert is_loopback(base) is local


def test_what_lies_beside_and_below_responses_keeps_path_and_query() -> None:
    base = "wss://host.example/openai/v1/?api-version=3"
    assert compact_url(base) == "https://host.example/openai/v1/responses/compact?api-version=3"
    assert models_url(base) == "https://host.example/openai/v1/models?api-version=3"
