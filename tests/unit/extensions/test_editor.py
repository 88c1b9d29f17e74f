"""Where the editor can't be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.editors import vscode_install


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with nothing on it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(vscode_install, "FOLDER", tmp_path / "code-server")
    monkeypatch.delenv("LOOPLINE_VSIX", raising=False)


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("wanted", [vscode_install.installed_editor, vscode_install.built_vsix])
def test_without_npm_the_test_is_skipped_for_want_of_it(wanted: object) -> None:
    assert callable(wanted)
    with pytest.raises(pytest.skip.Exception, match="needs npm"):
        wanted()
