from __future__ import annotations

import pytest

from agent_core.bench import llama, suite


def test_without_the_packages_it_says_so_and_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama, "NEEDED", ("no_such_package",))
    (figure,) = llama.measure()
    assert figure.runs == 0
    assert "pip install" in figure.note
    assert figure.ratio is None


def test_it_is_a_scenario() -> None:
    assert suite.SCENARIOS["llama"] is llama.measure
