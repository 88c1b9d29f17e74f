"""Settings: what leaves with a request, and what never shows."""

from __future__ import annotations

import subprocess
import sys

from agent_core.model.settings import ModelSettings

SETTINGS = ModelSettings(base_url="https://h/v1?sig=hidden", api_key="sk-secret", headers={"OpenAI-Project": "p"})


def test_the_key_leaves_as_a_bearer_and_shows_in_no_representation() -> None:
    assert SETTINGS.request_headers() == {
        "User-Agent": "loopline",
        "OpenAI-Project": "p",
        "Authorization": "Bearer sk-secret",
    }
    assert "sk-secret" not in f"{SETTINGS!r} {SETTINGS}"
    assert "hidden" not in repr(SETTINGS)


def test_without_a_key_there_is_no_authorization() -> None:
    assert "Authorization" not in ModelSettings(base_url="http://h").request_headers()


def test_a_session_loads_no_http_client_until_it_needs_one() -> None:
    code = "import sys; import agent_core.model.session; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
