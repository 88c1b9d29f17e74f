"""Which folders a session works in."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.agent.history import SessionHeader
from agent_core.errors import UsageError
from agent_core.hosting.session import HostOptions, roots_wanted


def header(*roots: Path) -> SessionHeader:
    return SessionHeader(
        id="sess_a", created="2026-01-01T00:00:00Z", roots=tuple(map(str, roots)), model="m", base_url=""
    )


def test_folders_that_are_added_come_after_the_workspace_each_once(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    options = HostOptions(roots=(one,), added=(two, one, tmp_path / "one" / ".." / "two"), client="test")
    assert roots_wanted(options, None) == (one, two)


def test_a_session_that_goes_on_keeps_its_folders_and_gets_those_that_are_added(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    assert roots_wanted(HostOptions(roots=(), added=(two,), client="test"), header(one)) == (one, two)


@pytest.mark.parametrize("option", ["--workspace", "--add-dir"])
def test_a_folder_that_is_none_is_refused_by_the_option_that_named_it(tmp_path: Path, option: str) -> None:
    missing = (tmp_path / "missing",)
    roots, added = (missing, ()) if option == "--workspace" else ((tmp_path,), missing)
    with pytest.raises(UsageError) as refused:
        roots_wanted(HostOptions(roots=roots, added=added, client="test"), None)
    assert option in (refused.value.hint or "")
