"""The watch on files goes on where folders vanish and where the system has no watches left."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import watchfiles

from lsp_server.features import watching
from tests.support.lsp.inside import inside
from tests.support.system.waiting import eventually


async def test_a_folder_that_went_before_it_was_watched_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    really = watching.folders_of

    def folders_of(roots: tuple[Path, ...]) -> list[str]:
        seen.append([str(tmp_path / "gone")] if not seen else really(roots))
        return seen[-1]

    monkeypatch.setattr(watching, "folders_of", folders_of)
    await _settings_are_seen(tmp_path, monkeypatch)
    assert len(seen) > 1


async def test_with_too_few_watches_the_nearest_folders_are_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    awatch, asked = watchfiles.awatch, []
    for name in (".a", "b", "c"):
        (tmp_path / name).mkdir()

    async def few(*folders: str, **options: Any) -> AsyncIterator[set[tuple[watchfiles.Change, str]]]:
        asked.append(len(folders))
        if len(folders) > 2:
            raise OSError("OS file watch limit reached.")
        async for changes in awatch(*folders, **options):
            yield changes

    monkeypatch.setattr(watchfiles, "awatch", few)
    await _settings_are_seen(tmp_path, monkeypatch)
    assert asked[0] > asked[-1] == 2, "the root and the folder of its settings"


async def _settings_are_seen(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "BEGIN_S", 0.0)
    monkeypatch.setattr(watching, "SETTLE_S", 0.01)
    settings = root / ".loopline" / "config.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('project = "0"\n')
    async with inside(root / "home") as ours:
        changed: list[bool] = []
        ours.server.editor.bus.configured.add(lambda: changed.append(True))
        await ours.initialize(root=root)
        ours.notify("initialized", {})
        before = len(changed)

        def touched() -> bool:
            settings.write_text(f'project = "{len(changed)}"\n')
            return len(changed) > before

        await eventually(touched)
