"""`loopline hub setup`: what is shown, what is written, and what is left alone."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from agent_core.cli.others import setup
from agent_core.errors import UsageError

URL = "https://hub.example"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("LOOPLINE_HUB_TOKEN", "llh_secret")
    monkeypatch.setenv("LOOPLINE_HUB_URL", URL)
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def files(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())


@pytest.mark.parametrize("agent", setup.AGENTS)
def test_showing_writes_nothing_and_shows_no_token(home: Path, agent: str, capsys: pytest.CaptureFixture[str]) -> None:
    setup.setup_agent(agent, url=None, write=False, yes=False)
    said = capsys.readouterr()
    assert URL in said.out and "TOKEN" in said.out
    assert "llh_secret" not in said.out + said.err
    assert files(home) == []


def test_codex_keeps_what_was_there(home: Path) -> None:
    config = home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text('model = "gpt-5"  # mine\n')
    setup.setup_agent("codex", url=None, write=True, yes=True)
    assert config.read_text().startswith('model = "gpt-5"  # mine\n')
    told = tomllib.loads(config.read_text())["otel"]
    assert told["exporter"]["otlp-http"] == {
        "endpoint": f"{URL}/v1/logs", "protocol": "binary", "headers": {"Authorization": "Bearer llh_secret"},
    }  # fmt: skip
    assert told["trace_exporter"]["otlp-http"]["endpoint"] == f"{URL}/v1/traces"
    assert config.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="already"):
        setup.setup_agent("codex", url=None, write=True, yes=True)


def test_claude_code_gets_its_variables_beside_others(home: Path) -> None:
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"model": "opus", "env": {"A": "b"}}')
    setup.setup_agent("claude", url="http://127.0.0.1:4000/", write=True, yes=True)
    told = json.loads(settings.read_text())
    assert (told["model"], told["env"]["A"]) == ("opus", "b")
    assert told["env"]["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://127.0.0.1:4000"
    assert "OTEL_METRICS_EXPORTER" not in told["env"]


def test_copilot_gets_a_file_of_variables(home: Path) -> None:
    setup.setup_agent("copilot", url=None, write=True, yes=True)
    (name,) = files(home)
    assert f"'{URL}'" in (home / name).read_text()
    assert "Bearer llh_secret" in (home / name).read_text()


@pytest.mark.parametrize(
    ("agent", "url", "words"),
    [("cursor", URL, "expected one of"), ("codex", "hub", "which hub"), ("codex", 'https://h"x', "which hub")],
)
def test_what_can_not_be_is_said(home: Path, agent: str, url: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        setup.setup_agent(agent, url=url, write=True, yes=True)


def test_nothing_is_written_where_nobody_can_be_asked(home: Path) -> None:
    with pytest.raises(UsageError, match="nobody"):
        setup.setup_agent("codex", url=None, write=True, yes=False)
    assert files(home) == []


def test_a_file_that_is_not_understood_is_left_alone(home: Path) -> None:
    for name in (".codex/config.toml", ".claude/settings.json"):
        (home / name).parent.mkdir()
        (home / name).write_text("[[[")
    for agent in ("codex", "claude"):
        with pytest.raises(UsageError, match="mend it"):
            setup.setup_agent(agent, url=None, write=True, yes=True)
    assert (home / ".codex/config.toml").read_text() == "[[["
