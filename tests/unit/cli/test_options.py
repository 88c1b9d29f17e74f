"""What options that `run` and the conversation share mean."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from agent_core.cli.app import run
from agent_core.cli.options import OFFERED, approve_of, flags_of, program_of, with_settings
from dashboard.agent.command_line import agent


@pytest.mark.parametrize(
    ("given", "meant"), [(None, None), ("ask", "ask"), ("auto", "auto"), ("deny", "never"), ("nonsense", "nonsense")]
)
def test_deny_is_the_setting_never(given: str | None, meant: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    assert approve_of(given) == meant
    assert capsys.readouterr() == ("", "")


def test_the_old_name_gets_a_word_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert approve_of("never") == "never"
    out, told = capsys.readouterr()
    assert out == "" and "--approve deny" in told and told.count("\n") == 1


def test_a_path_is_meant_from_here_and_a_name_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert program_of("python3") == "python3" and program_of(None) is None and program_of("") == ""
    assert program_of("bin/python") == str(tmp_path / "bin" / "python")


def test_both_ways_to_a_session_offer_each_setting_with_an_option_alike() -> None:
    names = {setting.field for setting in OFFERED} | {"add_dir", "plan", "workspace", "go_on", "pairs"}
    of_run, of_conversation = inspect.signature(run).parameters, inspect.signature(agent).parameters
    assert {"provider", "effort", "sandbox", "model"} <= names
    for name in names:
        assert of_run[name] == of_conversation[name], name


def test_an_option_wins_over_set_and_what_was_not_said_is_not_there() -> None:
    told = {setting.field: None for setting in OFFERED} | {"sandbox": "off", "approve": "deny"}
    assert flags_of(told, ["sandbox=auto", "limits.calls=3"]) == {"sandbox": "off", "approve": "never", "max_calls": 3}


def test_the_options_of_settings_stand_where_the_command_says() -> None:
    heard: list[object] = []

    @with_settings
    def command(*, first: str = "", settings: object, last: int = 0) -> None:
        heard.append((first, settings, last))

    names = list(inspect.signature(command).parameters)
    assert names[0] == "first" and names[-2:] == ["last", "pairs"] and "settings" not in names
    command(first="a", last=2, pairs=None, **{setting.field: None for setting in OFFERED} | {"model": "m"})
    assert heard == [("a", {"model": "m"}, 2)]
