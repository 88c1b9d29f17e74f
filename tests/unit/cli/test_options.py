"""What options that `run` and the conversation share mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.cli.options import approve_of, program_of


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
