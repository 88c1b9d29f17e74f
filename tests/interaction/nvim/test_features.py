"""What is around turns: commands and their completion, options, keys of providers, trust, models, the dashboard, the
status line and the health check."""

from __future__ import annotations

import sys
from pathlib import Path

import httpx

from tests.interaction.nvim.conftest import ANSWERS, Open, ready, start
from tests.support.editors.nvim import editor, run_lua, setup
from tests.support.lsp.puppet import Puppet, steps
from tests.support.system.cli import environment

KEY = "sk-test-0123456789abcdef0123456789"


async def test_nothing_is_loaded_and_no_server_runs_before_it_is_asked_for(tmp_path: Path, root: Path) -> None:
    async with editor(tmp_path, root, environment(tmp_path), "", "sums.py") as nv:
        loaded = await nv.lua("return vim.tbl_filter(function(n) return n:find('^loopline') end, "
                              "vim.tbl_keys(package.loaded))")  # fmt: skip
        assert loaded == [] or loaded == {}
        assert await nv.lua("return vim.fn.exists(':Loopline')") == 2
        await nv.command("runtime plugin/loopline.lua")
        assert await nv.lua("return require('loopline').statusline()") == ""
        command = [sys.executable, "-m", "agent_core", "lsp", "--stdio"]
        await nv.lua("vim.g.loopline = { cmd = ... }", command)
        await nv.command("Loopline open")
        await nv.shows("Press i to say what to do", timeout_s=60)
        assert await nv.until(
            "return #vim.lsp.get_clients({ name = 'loopline', bufnr = vim.fn.bufnr('sums.py') }) == 1"
        )
        assert await nv.lua("return #vim.lsp.get_clients()") == 1
        await nv.quit()


async def test_enabled_the_way_of_neovim_with_a_global_for_options(tmp_path: Path, root: Path) -> None:
    config = f"{ANSWERS}{setup(width=50)}".replace("require('loopline').setup(", "vim.g.loopline = (")
    async with editor(tmp_path, root, environment(tmp_path), f"{config}\nvim.lsp.enable('loopline')", "sums.py") as nv:
        await ready(nv)
        assert await nv.lua("return #vim.lsp.get_clients({ name = 'loopline', bufnr = 0 })") == 1
        assert await nv.lua("return require('loopline.config').get().width") == 50
        await nv.until("return require('loopline').statusline() == 'repair (no model)'")
        await nv.command("edit other.py")
        assert await nv.lua("return #vim.lsp.get_clients()") == 1, "one server for the folder"
        await nv.command("Loopline")
        await nv.until("return vim.fn.winnr('$') == 2")
        assert "Press i to say what to do" in await nv.text()
        await nv.command("Loopline")
        assert await nv.lua("return vim.fn.winnr('$')") == 1
        await nv.quit()


async def test_an_option_that_is_wrong_is_said(tmp_path: Path, root: Path) -> None:
    async with editor(tmp_path, root, environment(tmp_path), setup(widht=3), "sums.py") as nv:
        await nv.said("`widht` is not an option")
        await nv.quit()


async def test_commands_complete(opened: Open, model: Puppet) -> None:
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        complete = "return vim.fn.getcompletion(..., 'cmdline')"
        names = await nv.lua(complete, "Loopline ")
        assert {"start", "cancel", "review", "model", "trust"} <= set(names)
        assert await nv.lua(complete, "Loopline ca") == ["cancel"]
        assert await nv.lua(complete, "Loopline approve d") == ["deny"]
        await start(nv, steps({"hold": "it"}))
        await model.reached("it")
        (turn,) = await nv.lua(complete, "Loopline cancel ")
        await nv.command(f"Loopline cancel {turn}")
        await nv.shows("■ cancelled")
        assert await nv.lua(complete, "Loopline undo ") == [turn]
        await nv.command("Loopline nonsense")
        await nv.said("there is no `:Loopline nonsense`")
        assert await nv.lua("return require('loopline.mentions').files(vim.fn.getcwd(), 'SUM')") == ["sums.py"]
        await nv.quit()


async def test_a_key_is_asked_for_and_leaves_no_trace_here(tmp_path: Path, root: Path) -> None:
    env = {**environment(tmp_path), "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    config = f"{ANSWERS}vim.lsp.log.set_level('TRACE')\n{setup()}\nvim.o.history = 100\nvim.o.shadafile = ''"
    async with editor(tmp_path, root, env, config, "sums.py") as nv:
        await ready(nv)
        await nv.lua("local key = ... vim.fn.inputsecret = function() return key end", KEY)
        await nv.command("Loopline key openai")
        await nv.said("the key of openai is kept in the")
        log = await nv.lua("return vim.lsp.log.get_filename()")
        assert await nv.lua("return vim.lsp.log.get_level()") == 0, "the level is as it was"
        await nv.command("wshada! " + str(tmp_path / "shada"))
        await nv.quit()
    said = Path(log).read_text()
    assert KEY not in said and "session.list" in said, "all else is in the log at this level"
    assert KEY.encode() not in (tmp_path / "shada").read_bytes()
    kept = [path for path in (tmp_path / "state").rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    kept += [path for path in (tmp_path / "config").rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert all("nvim" not in path.parts for path in kept)


async def test_trusting_a_folder_is_asked_for_and_told(tmp_path: Path, root: Path) -> None:
    async with editor(tmp_path, root, environment(tmp_path), f"{ANSWERS}{setup()}", "sums.py") as nv:
        await ready(nv)
        await nv.command("Loopline trust")
        (asked,) = await nv.until("return #vim.g.asked > 0 and vim.g.asked")
        assert str(root) in asked["prompt"] and asked["items"] == ["No", "Yes, trust it"]
        assert not (tmp_path / "config" / "loopline" / "managed.toml").exists()
        await nv.lua("vim.g.answers = {'Yes'}")
        await nv.command("Loopline trust")
        await nv.said("is trusted")
        assert str(root) in (tmp_path / "config" / "loopline" / "managed.toml").read_text()
        await nv.quit()


async def test_choosing_a_model(tmp_path: Path, root: Path) -> None:
    async with editor(tmp_path, root, environment(tmp_path), f"{ANSWERS}{setup()}", "sums.py") as nv:
        await ready(nv)
        await nv.command("Loopline new")  # the models are the service's, and it starts with a session
        await nv.until("return require('loopline.client').here().store.current ~= nil")
        await nv.lua("vim.g.answers = {'scripted'}")
        await nv.until("vim.cmd('Loopline model'); return vim.wait(500, function() return #vim.g.asked > 0 end)")
        assert any("← now" in item for item in (await nv.lua("return vim.g.asked"))[0]["items"])
        await nv.said("new turns use scripted")
        assert "scripted" in await nv.lua("return vim.fn.getcompletion('Loopline model ', 'cmdline')")
        await nv.command("Loopline model no-such-model")
        await nv.said("the service has no model 'no-such-model'")
        await nv.quit()


async def test_streaming_and_live_figures(tmp_path: Path, root: Path) -> None:
    """The service's slow model, which writes for three seconds."""
    config = f"{ANSWERS}{setup(server={'model': 'scripted:slow', 'approve': 'auto'})}"
    async with editor(tmp_path, root, environment(tmp_path), config, "sums.py") as nv:
        await ready(nv)
        await start(nv, "write something")
        lengths, figures = set(), set()
        while "✓ completed" not in (text := await nv.text()):
            lengths.add(len(text))
            figures.add(await nv.lua("return require('loopline').statusline()"))
        assert len(lengths) > 2, lengths
        assert len([one for one in figures if "tok/s" in one and "– ·" not in one.split(" · ")[0]]) > 1, figures
        follows = "return vim.fn.line('w$', require('loopline.window').window()) >= vim.fn.line('$', "
        assert await nv.lua(f"{follows}require('loopline.window').window()) - 1"), "the end stays in sight"
        await nv.quit()


async def test_the_dashboard_opens_in_the_browser(tmp_path: Path, root: Path) -> None:
    config = f"{ANSWERS}{setup()}\nvim.ui.open = function(url) vim.g.opened = url; return vim.system({{'true'}}) end"
    async with editor(tmp_path, root, environment(tmp_path), config, "sums.py") as nv:
        await ready(nv)
        await nv.command("Loopline dashboard")
        url = await nv.until("return vim.g.opened", timeout_s=60)
        assert url.startswith("http://127.0.0.1:")
        async with httpx.AsyncClient() as browser:
            assert (await browser.get(url, timeout=20)).status_code == 200
        await nv.quit()


async def test_health_and_status(opened: Open) -> None:
    async with opened("sums.py", server={"approve": "ask"}) as nv:
        await ready(nv)
        await nv.command("Loopline status")
        assert "nothing runs" in await nv.said("connection")
        await nv.command("checkhealth loopline")
        text = await nv.shows("no key of openai", "health://")
        for words in ("version 0.11", "options are in order", "enabled for files", "connected to loopline", "puppet"):
            assert words in text, text
        assert "ERROR" not in text
        await nv.quit()


async def test_stop_and_restart(opened: Open) -> None:
    async with opened("sums.py") as nv:
        await ready(nv)
        await nv.command("Loopline stop")
        await nv.until("return #vim.lsp.get_clients() == 0")
        await nv.command("edit other.py")
        assert await nv.lua("return #vim.lsp.get_clients()") == 0, "it stays down"
        await nv.command("Loopline restart")
        await ready(nv)
        await nv.until("return #vim.lsp.get_clients({ bufnr = vim.fn.bufnr('sums.py') }) == 1")
        assert await nv.lua("return #vim.lsp.get_clients({ bufnr = vim.fn.bufnr('other.py') })") == 1
        await nv.quit()


def test_an_older_editor_is_told_and_nothing_else_is_loaded(tmp_path: Path) -> None:
    script = tmp_path / "old.lua"
    script.write_text(
        "local has = vim.fn.has\n"
        "vim.fn.has = function(what) return what == 'nvim-0.11' and 0 or has(what) end\n"
        "vim.notify = function(words) io.stdout:write(words) end\n"
        "vim.g.loaded_loopline = nil -- it was loaded as what it is\n"
        "vim.cmd.runtime('plugin/loopline.lua')\n"
        "vim.cmd('Loopline start something')\n"
        "assert(not package.loaded.loopline)\n"
    )
    done = run_lua(script)
    assert (done.returncode, done.stdout) == (0, "Loopline needs Neovim 0.11 or newer"), done.stderr
