"""The guard: which Host headers and which keys are let in."""

from __future__ import annotations

import pytest

from agent_core.responses_server.admission.guard import Guard
from agent_core.responses_server.settings import ApiKey

GUARD = Guard([ApiKey("one", "k-1"), ApiKey("two", "schlüssel")], ["127.0.0.1", "localhost", "Box.Example", "::1"])


@pytest.mark.parametrize(
    "header",
    ["127.0.0.1", "127.0.0.1:80", "localhost:5000", "LOCALHOST", "box.example", "box.example.:81", "[::1]:80", "[::1]"],
)
def test_hosts_let_in(header: str) -> None:
    assert GUARD.host_allowed(header)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "127.0.0.2",
        "[::2]",
        ":80",
        "localhost:x",
    ],
)
def test_hosts_kept_out(header: str | None) -> None:
    assert not GUARD.host_allowed(header)


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("Bearer k-1", "one"),
        ("bearer k-1", "one"),
        ("Bearer  k-1 ", "one"),
        ("Bearer schlüssel", "two"),
        ("Bearer k-2", None),
        ("Basic k-1", None),
        ("k-1", None),
        ("Bearer", None),
        ("Bearer ", None),
        ("", None),
        (None, None),
    ],
)
def test_keys(header: str | None, name: str | None) -> None:
    assert GUARD.key_name(header) == name


def test_a_key_does_not_show_in_its_repr() -> None:
    assert "k-1" not in repr(ApiKey("one", "k-1"))
