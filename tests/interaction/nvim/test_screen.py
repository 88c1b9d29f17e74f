"""The editor in a terminal, as a person sees it: `tmux` shows it, and its screen is read and kept.

With LOOPLINE_README_PICTURES=true the pictures of the plugin's README are made anew from the same live session.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import random
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from tests.interaction.nvim.conftest import READY
from tests.support.agent.sample import OTHER_BUGS, copy_with
from tests.support.editors.nvim import CACHE, PLUGIN, Nvim, init_file, nvim, setup
from tests.support.suite.parts import program
from tests.support.system.cli import environment

COLUMNS, LINES = 140, 40
SCREENS = Path(os.environ.get("LOOPLINE_SCREENSHOTS", CACHE.parent / "screenshots")) / "nvim"
SEED = int(os.environ.get("LOOPLINE_SEED", "20261130"))
STYLE = """
vim.o.termguicolors, vim.o.number, vim.o.laststatus, vim.o.ruler = true, true, 3, false
vim.o.statusline = " %f %m%=%{%v:lua.require'loopline'.statusline({'coloured': v:true})%} "
vim.api.nvim_set_hl(0, "Normal", { bg = "NONE" })
"""


class Screen:
    """A tmux of its own with the editor in it."""

    def __init__(self, socket: str) -> None:
        self._socket = socket

    def tmux(self, *arguments: str) -> str:
        done = subprocess.run(["tmux", "-L", self._socket, *arguments], capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def text(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "main")

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", "-t", "main", *keys)

    async def shows(self, *words: str) -> str:
        text = ""
        try:
            async with asyncio.timeout(90):
                while not all(word in (text := self.text()) for word in words):  # noqa: ASYNC110 - a screen tells nobody
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"no {words} in:\n{text}") from None
        return text

    def keep(self, name: str) -> None:
        """As text and as a picture, for somebody to look at."""
        coloured = self.tmux("capture-pane", "-p", "-e", "-t", "main")
        console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
        for line in coloured.splitlines():
            console.print(Text.from_ansi(line), no_wrap=True, crop=True)
        picture = re.sub(
            r"@font-face \{.*?\}\s*",
            "",
            console.export_svg(title="Neovim", theme=MONOKAI, unique_id=name),
            flags=re.DOTALL,
        )  # nothing is fetched to look at it
        SCREENS.mkdir(parents=True, exist_ok=True)
        (SCREENS / f"{name}.txt").write_text(self.text())
        (SCREENS / f"{name}.svg").write_text(picture)
        if os.environ.get("LOOPLINE_README_PICTURES") == "true":
            (PLUGIN / "pictures").mkdir(exist_ok=True)
            (PLUGIN / "pictures" / f"{name}.svg").write_text(picture)


@asynccontextmanager
async def screen(folder: Path, root: Path, config: str, *files: str) -> AsyncIterator[tuple[Screen, Nvim]]:
    program("tmux")
    name = f"loopline-{os.getpid()}-{hashlib.sha256(str(folder).encode()).hexdigest()[:10]}"
    socket = Path("/tmp") / f"{name}.sock"
    own = folder / "nvim"
    own.mkdir()
    env = {**environment(folder / "home"), "LOOPLINE_TEST_SOCKET": str(socket), "NVIM_LOG_FILE": str(own / "log")}
    settings = own / "tmux.conf"
    settings.write_text(
        'set -g default-terminal "tmux-256color"\nset -ga terminal-features ",*:RGB"\nset -g status off\n'
    )
    command = [str(nvim()), "--clean", "-n", "-u", str(init_file(own, STYLE + config)), *files]
    start = ["tmux", "-L", name, "-f", str(settings), "new-session", "-d", "-s", "main"]
    start += ["-x", str(COLUMNS), "-y", str(LINES), *command]
    env |= {"LANG": "C.UTF-8", "TERM": "xterm-256color"}
    await asyncio.to_thread(subprocess.run, start, cwd=root, env=env, timeout=20, check=True)
    shown, editor = Screen(name), Nvim(None, socket)
    try:
        await editor.connect()
        yield shown, editor
    finally:
        editor.leave()
        await asyncio.to_thread(subprocess.run, ["tmux", "-L", name, "kill-server"], capture_output=True, timeout=20)
        socket.unlink(missing_ok=True)


async def test_what_a_person_sees(tmp_path: Path) -> None:
    bug = random.Random(SEED).choice(sorted(OTHER_BUGS))
    root = copy_with(tmp_path / "shop", bug)
    changed, *_ = OTHER_BUGS[bug]
    async with screen(tmp_path, root, setup(), changed) as (shown, editor):
        await editor.until(READY, timeout_s=60)
        await shown.shows("repair (no model)")
        shown.keys(":Loopline start make the failing test pass", "Enter")
        # a script longer than a question shows can be allowed only once all of it was in sight
        question = await shown.shows("Loopline wants to run shell", "1: Show all of it")
        assert "▶ make the failing test pass" in question and "Allow" not in question
        shown.keep("approval")

        async def answer() -> None:
            while True:
                seen = shown.text()
                if allow := re.search(r"(\d): Allow", seen):
                    shown.keys(allow[1], "Enter")
                elif "1: Show all of it" in seen:
                    shown.keys("1", "Enter")
                    await shown.shows("this is all of it")
                    shown.keys(":close | Loopline approve", "Enter")
                    await shown.shows("2: Allow")
                await asyncio.sleep(0.05)

        answering = asyncio.create_task(answer())
        try:
            running = await shown.shows("◉ ", "tok/s", "● checks", "● read")
            assert re.search(r"◉ [\d,.]+ tok/s · [\d.]+ m?s · [\d.]+ % ⟲", running)
            shown.keep("running")
            ended = await shown.shows("✓ completed in")
        finally:
            answering.cancel()
        assert re.search(r"± 1 file, \+\d+ -\d+", ended) and "calls · ⟲" in ended
        assert ended.count("│ ") < 80, "tools are one line each until they are opened"
        shown.keep("session")
        shown.keys(":Loopline review", "Enter")
        review = await shown.shows("1 change, 1 to decide")
        assert f"@@ {changed}:" in review
        shown.keep("review")
        shown.keys("a")
        await shown.shows("✓ accepted", "0 to decide")
