"""The pictures in `dashboard/README.md`, one of each tab, are what the dashboard looks like.

`LOOPLINE_PICTURES=1 pytest tests/snapshot/test_pictures.py` draws them anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from dashboard.tui.desk import TABS
from tests.support.terminal.pictures import after, dashboard

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "dashboard" / "pictures"
NAMES = ("waterfall", "tokens", "reuse", "connection", "errors", "raw")
SHEETS = {"comparison": ("c", "G", "c"), "help": ("question_mark",)}
KEYS: dict[str, tuple[str, ...]] = {name: (str(number),) for number, name in enumerate(NAMES, 1)} | SHEETS


async def draw(*keys: str) -> str:
    """An SVG without what differs from run to run and what would be loaded from elsewhere."""
    app, feed = dashboard()
    async with app.run_test(size=(120, 32)) as pilot:
        await after(app, feed, *keys)(pilot)
        svg = app.export_screenshot(title="loopline tui", simplify=True)
    svg = re.sub(r"\bterminal-\d+-", "terminal-", re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL))
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


@pytest.mark.parametrize("name", KEYS)
async def test_the_picture_is_what_it_looks_like(name: str) -> None:
    path = PICTURES / f"{name}.svg"
    drawn = await draw(*KEYS[name])
    if os.environ.get("LOOPLINE_PICTURES"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(drawn)
    assert path.read_text() == drawn, f"{path} shows an earlier look; see the top of this file"
    assert "http" not in drawn.replace("http://www.w3.org/", "")


def test_the_readme_shows_every_tab() -> None:
    readme = (ROOT / "dashboard" / "README.md").read_text()
    assert len(NAMES) == len(TABS)
    for name in KEYS:
        assert f"](pictures/{name}.svg)" in readme, name
