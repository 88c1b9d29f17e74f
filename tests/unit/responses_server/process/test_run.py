"""What the process writes down and where it listens."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from agent_core.errors import ConfigError
from agent_core.ready_file import write_ready_file
from agent_core.responses_server.app import build_app
from agent_core.responses_server.process.run import bind, run_process, service_url
from tests.support.service.running import settings
from tests.support.suite.parts import lacking


def test_the_ready_file_is_whole_and_the_owners(tmp_path: Path) -> None:
    path = tmp_path / "ready.json"
    path.write_text("stale")
    path.chmod(0o644)
    write_ready_file(path, {"url": "http://127.0.0.1:1", "pid": os.getpid()})
    assert json.loads(path.read_text()) == {"url": "http://127.0.0.1:1", "pid": os.getpid()}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def free_port() -> int:
    with bind("127.0.0.1", 0) as sock:
        return int(sock.getsockname()[1])


def test_addresses(free_port: int) -> None:
    with bind("127.0.0.1", free_port) as sock:
        assert service_url(sock) == f"http://127.0.0.1:{free_port}"
        sock.listen()
        with pytest.raises(ConfigError) as caught:
            bind("127.0.0.1", free_port)
    assert f"127.0.0.1:{free_port}" in caught.value.message


def test_version_six_addresses_are_written_in_brackets() -> None:
    try:
        sock = bind("::1", 0)
    except ConfigError:
        lacking("ipv6")
    with sock:
        assert service_url(sock).startswith("http://[::1]:")


def test_a_ready_file_in_no_folder_is_refused_before_anything_starts(tmp_path: Path) -> None:
    chosen = settings(ready_file=tmp_path / "none" / "ready.json")
    app = build_app(chosen)
    with pytest.raises(ConfigError) as caught:
        run_process(chosen, app, app.state.service)
    assert caught.value.key == "ready-file"
