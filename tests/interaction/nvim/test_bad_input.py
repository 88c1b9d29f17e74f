"""What goes wrong: no server, an old one, one that crashes or is killed, no folder, a read-only one, hostile words."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.interaction.nvim.conftest import ANSWERS, Open, ready, start
from tests.support.editors.nvim import editor, setup
from tests.support.lsp.puppet import Puppet, steps
from tests.support.suite.parts import program
from tests.support.system.cli import environment

OLD_SERVER = r"""
import json, sys
def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()
if "--linger-s" in sys.argv:
    sys.exit(2)
while line := sys.stdin.buffer.readline():
    length = int(line.split(b":")[1])
    sys.stdin.buffer.readline()
    message = json.loads(sys.stdin.buffer.read(length))
    if message.get("method") == "initialize":
        loopline = json.loads(sys.argv[1])
        capabilities = {"experimental": {"loopline": loopline}} if loopline else {}
        info = {"name": "loopline", "version": "0.0.1"}
        send({"id": message["id"], "result": {"capabilities": capabilities, "serverInfo": info}})
    elif message.get("method") == "exit":
        break
    elif "id" in message:
        send({"id": message["id"], "result": None})
"""
STATUS = "return require('loopline').statusline()"


async def test_no_server(tmp_path: Path, root: Path) -> None:
    config = f"{ANSWERS}{setup(['no-such-loopline', 'lsp'])}"
    async with editor(tmp_path, root, environment(tmp_path), config, "sums.py") as nv:
        said = await nv.said("the server `no-such-loopline` was not found")
        assert "put it on PATH" in said
        await nv.command("edit other.py")
        assert len(await nv.lua("return vim.g.said")) == 1, "said once, not for each file"
        assert await nv.lua(STATUS) == "loopline can't run"
        await nv.command("Loopline start do it")
        assert len(await nv.lua("return vim.g.said")) == 2, "and again when it is asked for"
        await nv.command("checkhealth loopline")
        assert "was not found" in await nv.text("health://")
        await nv.quit()


@pytest.mark.parametrize(
    ("announced", "words"), [(None, "too old"), ({"version": 0}, "too old"), ({"version": 99}, "too new")]
)
async def test_a_server_of_another_version(tmp_path: Path, root: Path, announced: object, words: str) -> None:
    script = tmp_path / "old.py"
    script.write_text(OLD_SERVER)
    config = f"{ANSWERS}{setup([sys.executable, str(script), json.dumps(announced)])}"
    async with editor(tmp_path, root, environment(tmp_path), config, "sums.py") as nv:
        said = await nv.said(words)
        assert "0.0.1" in said and "update" in said
        assert await nv.lua(STATUS) == "loopline can't run"
        await nv.until("return #vim.lsp.get_clients() == 0")
        await nv.quit()


async def test_a_server_that_crashes_at_its_start_is_tried_a_few_times(tmp_path: Path, root: Path) -> None:
    starts = tmp_path / "starts"
    command = ["sh", "-c", f"echo x >> {starts}; echo broken >&2; exit 3"]
    config = f"{ANSWERS}{setup(command, restart_s=[0.05, 0.1])}"
    async with editor(tmp_path, root, environment(tmp_path), config, "sums.py") as nv:
        said = await nv.said("ended 3 times")
        assert "exit code 3" in said and ":Loopline restart" in said
        assert starts.read_text().count("x") == 3
        assert len([one for one in await nv.lua("return vim.g.said") if one.startswith("Loopline:")]) == 2
        await nv.command("Loopline restart")
        await nv.until("return require('loopline.client').here().server == 'broken'")
        assert starts.read_text().count("x") > 3
        await nv.quit()


async def test_a_server_killed_in_mid_turn_comes_back_with_the_session(opened: Open, root: Path, model: Puppet) -> None:
    async with opened("sums.py", server={"approve": "auto"}, restart_s=[0.1, 0.1]) as nv:
        await ready(nv)
        read = {"call": "read", "args": {"path": "sums.py"}}
        await start(nv, steps(read, {"hold": "mid"}))
        await model.reached("mid")
        await nv.shows("● read      sums.py")
        children = Path(f"/proc/{nv.process.pid}/task/{nv.process.pid}/children") if nv.process else Path()
        (server,) = map(int, children.read_text().split())
        os.kill(server, signal.SIGKILL)
        await nv.said("the server ended (signal 9)")
        await nv.shows("↯ ")
        await ready(nv)
        text = await nv.shows("● read      sums.py", timeout_s=60)
        assert "▶" not in text
        await nv.until("return #vim.lsp.get_clients({ bufnr = vim.fn.bufnr('sums.py') }) == 1")
        await start(nv, steps({"text": "and on it goes"}))
        await nv.shows("and on it goes", timeout_s=60)
        await nv.shows("✓ completed")
        await nv.quit()


async def test_no_folder(tmp_path: Path) -> None:
    lone = tmp_path / "home" / "note.txt"
    lone.parent.mkdir()
    lone.write_text("x\n")
    env = {**environment(tmp_path), "HOME": str(lone.parent)}
    async with editor(tmp_path, lone.parent, env, f"{ANSWERS}{setup()}", "note.txt") as nv:
        await nv.command("Loopline start do it")
        assert "`:cd` into one" in await nv.said("no project folder here")
        assert await nv.lua("return #vim.lsp.get_clients()") == 0
        assert await nv.lua(STATUS) == ""
        await nv.quit()


async def test_a_file_that_cannot_be_written(opened: Open, root: Path, model: Puppet) -> None:
    """The buffer takes the edit; that it is not on disk is said, to the user and to the model."""
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        await nv.lua("vim.bo.readonly = true")
        edit = {"call": "edit", "args": {"path": "sums.py", "old": "a - b", "new": "a + b"}}
        await start(nv, steps(edit, {"text": "tried"}))
        await nv.shows("✓ completed")
        await nv.said("sums.py was not saved")
        await nv.quit()


async def test_a_folder_that_cannot_be_written(opened: Open, root: Path, model: Puppet) -> None:
    """Mounted read-only, so that it holds for a superuser too."""
    bwrap = program("bwrap")
    before = (root / "sums.py").read_bytes()
    inside = (bwrap, "--dev-bind", "/", "/", "--ro-bind", str(root), str(root))
    async with opened("sums.py", server={"approve": "auto"}, inside=inside) as nv:
        await ready(nv)
        edits = [{"call": "edit", "args": {"path": path, "old": old, "new": "changed"}}
                 for path, old in (("sums.py", "a - b"), ("other.py", "x1 = 1"))]  # fmt: skip
        await start(nv, steps(*edits, {"text": "tried both"}))
        text = await nv.shows("✓ completed")
        assert "✗ edit      other.py" in text
        await nv.said("sums.py was not saved")
        assert (root / "sums.py").read_bytes() == before
        await nv.quit()


async def test_a_save_never_overwrites_what_something_else_wrote(opened: Open, root: Path) -> None:
    async with opened("sums.py") as nv:
        await ready(nv)
        await nv.lua("vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'mine' })")
        (root / "sums.py").write_text("theirs\n")
        os.utime(root / "sums.py", (1, 1))
        uri = (root / "sums.py").as_uri()
        assert await nv.lua("return require('loopline.saves').save_all({ ... })", uri) is False
        assert (root / "sums.py").read_text() == "theirs\n"
        assert "was changed by something else" in await nv.said("sums.py was not saved")
        await nv.quit()


EVIL = (
    "<script>document.title='pwned'</script> <img src=http://127.0.0.1:9/x onerror=alert(1)> ![x](http://127.0.0.1:9/y.png)"
    "\x1b[2J\x1b]0;pwned\x07\x1b]52;c;cHduZWQ=\x07\x00 %{luaeval('vim.g.pwned')} \u202egnitfihs\u2028 `:!touch pwned`"
    "\nvim: set tw=7:\n"
)


async def test_hostile_words_are_text(opened: Open, root: Path) -> None:
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        shell = {"call": "shell", "args": {"command": f"printf '%s' '{EVIL.replace(chr(0), '').replace(chr(39), '')}'"}}
        plan = {"call": "plan", "args": {"steps": [f"doing: {EVIL}", "todo: rest"]}}
        await start(nv, steps(plan, shell, {"text": EVIL}) + "\n%{luaeval('vim.g.pwned')}")
        text = await nv.shows("✓ completed")
        assert "<script>document.title='pwned'</script>" in text and "![x](http://127.0.0.1:9/y.png)" in text
        assert not set(text) & {"\x1b", "\x07", "\x00", "\u202e", "\u2028"}
        assert await nv.lua("return vim.o.textwidth") == 0
        assert await nv.lua("return vim.g.pwned") is None
        assert not (root / "pwned").exists()
        bar = await nv.lua("local w = require('loopline.window').window() "
                           "return vim.api.nvim_eval_statusline(vim.wo[w].winbar, { winid = w }).str")  # fmt: skip
        assert "pwned" not in bar
        assert "▸ <script>document.title" in text, "the plan was shown"
        await nv.quit()
