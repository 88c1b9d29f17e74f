from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_core.tools.workspace.exchange import exchange
from tests.support.suite.parts import lacking


def test_two_files_change_places(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").write_text("2")
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not exchange(folder, "a", "b"):
            lacking("exchange")
        assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("2", "1")
        with pytest.raises(FileNotFoundError):
            exchange(folder, "a", "missing")
    finally:
        os.close(folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
