"""Where the editor can't be had: an error in CI, a skip elsewhere, both with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import vscode_install


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with nothing on it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(vscode_install, "FOLDER", tmp_path / "code-server")
    monkeypatch.delenv("LOOPLINE_VSIX", raising=False)


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("wanted", [vscode_install.editor, vscode_install.built_vsix])
def test_without_npm_there_is_a_skip_and_in_ci_an_error(wanted: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(wanted)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no npm"):
        wanted()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no npm .*; CI needs it"):
        wanted()
