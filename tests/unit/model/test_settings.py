"""Settings: what leaves with a request, and what never shows."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agent_core.errors import ConfigError
from agent_core.model.settings import ModelSettings

SETTINGS = ModelSettings(base_url="https://h/v1?sig=hidden", api_key="sk-secret", headers={"OpenAI-Project": "p"})


def test_the_key_leaves_as_a_bearer_and_shows_in_no_representation() -> None:
    assert SETTINGS.request_headers() == {
        "User-Agent": "loopline",
        "x-responsesapi-include-timing-metrics": "true",
        "OpenAI-Project": "p",
        "Authorization": "Bearer sk-secret",
    }
    assert "sk-secret" not in f"{SETTINGS!r} {SETTINGS}"
    assert "hidden" not in repr(SETTINGS)


def test_without_a_key_there_is_no_authorization() -> None:
    assert "Authorization" not in ModelSettings(base_url="http://h").request_headers()


def test_white_space_around_a_key_is_dropped_and_what_can_be_no_header_is_refused_unseen() -> None:
    assert ModelSettings(base_url="http://h", api_key=" sk-1\n").request_headers()["Authorization"] == "Bearer sk-1"
    assert "Authorization" not in ModelSettings(base_url="http://h", api_key=" ").request_headers()
    for key in ("sk-1\r\nX-Evil: y", "sk-\u00e9", "sk 1", "sk\x00"):
        with pytest.raises(ConfigError) as caught:
            ModelSettings(base_url="http://h", api_key=key).request_headers()
        assert key not in str(caught.value)


def test_a_session_loads_no_http_client_until_it_needs_one() -> None:
    code = "import sys; import agent_core.model.session; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
