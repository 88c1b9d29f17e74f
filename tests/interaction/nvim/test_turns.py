"""Turns in the editor, with a service whose answers are in the task: approvals, edits and saves, steering, cancelling,
sessions, and a turn that outlives its editor."""

from __future__ import annotations

from pathlib import Path

from tests.interaction.nvim.conftest import Open, ready, start
from tests.support.editors.nvim import Nvim
from tests.support.lsp.puppet import Puppet, steps

RUNNING = "return require('loopline.turns').running(require('loopline.client').here()) ~= nil"


async def status(nv: Nvim) -> str:
    return str(await nv.lua("return require('loopline').statusline()"))


async def over(nv: Nvim, words: str) -> str:
    """Wait for the end of a turn; the session's text."""
    return await nv.shows(words)


async def test_an_edit_of_an_open_file_is_in_the_buffer_and_saved_for_the_tests(
    opened: Open, root: Path, model: Puppet
) -> None:
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        await nv.lua("vim.g.written = 0; vim.api.nvim_create_autocmd('BufWritePre', { callback = function() "
                     "vim.g.written = vim.g.written + 1 end })")  # fmt: skip
        task = steps(
            {"call": "edit", "args": {"path": "sums.py", "old": "a - b  # héllo 😀", "new": "a + b  # 😀 ü"}},
            {"call": "shell", "args": {"command": "grep -c 'a + b' sums.py"}},
            {"call": "edit", "args": {"path": "other.py", "old": "x2 = 2\n", "new": "x2 = 22\n"}},
            {"text": "It adds now."},
        )
        await start(nv, task)
        text = await over(nv, "✓ completed")
        assert "It adds now." in text and "● edit" in text and "± 2 files, +2 -2" in text
        assert "return a + b  # 😀 ü" in (root / "sums.py").read_text()
        assert "\n1\n" in model.outputs[1] or model.outputs[1].startswith("1\n"), "tests see what was edited"
        assert await nv.lua("return {vim.bo.modified, vim.fn.getline(5)}") == [False, "    return a + b  # 😀 ü"]
        assert await nv.lua("return vim.g.written") == 0, "what formats on save stays out of it"
        folds = await nv.lua(
            """
            local window, view = require('loopline.window').window(), require('loopline.view')
            return vim.api.nvim_win_call(window, function()
              local found = {}
              for line = 1, vim.fn.line('$') do
                if vim.fn.foldclosed(line) == line then
                  found[#found + 1] = vim.fn.getline(line)
                end
              end
              return found
            end)"""
        )
        assert [line.split()[1] for line in folds if line.startswith("●")] == ["edit", "shell", "edit"], folds
        await nv.quit()


async def test_a_tool_shows_its_output_when_it_is_opened(opened: Open) -> None:
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        await start(nv, steps({"call": "shell", "args": {"command": "echo out; echo put"}}, {"text": "said"}))
        assert "│ out" not in await over(nv, "✓ completed")
        await nv.command("Loopline open")
        await nv.lua("vim.fn.search('● shell')")
        await nv.keys("<CR>")
        text = await nv.shows("│ out\n  │ put\n  │ exit code: 0")
        assert await nv.lua("return vim.fn.foldclosed('.')") == -1, text
        assert "│ command: echo out; echo put" in text
        await nv.quit()


async def test_unsaved_text_of_the_user_is_kept_and_not_written(opened: Open, root: Path) -> None:
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        await nv.lua("vim.api.nvim_buf_set_lines(0, 8, 9, false, { '    return add(a, a)  # mine' })")
        edit = {"call": "edit", "args": {"path": "sums.py", "old": "a - b", "new": "a + b"}}
        await start(nv, steps(edit, {"text": "done"}))
        await over(nv, "✓ completed")
        shown = await nv.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
        assert shown[4].startswith("    return a + b") and shown[8].endswith("# mine")
        await nv.quit()


async def test_approvals_one_at_a_time_and_dismissed_is_denied(opened: Open, root: Path, model: Puppet) -> None:
    async with opened("sums.py") as nv:
        await ready(nv)
        await nv.lua("vim.g.answers = {'Allow'}")
        ask = {"call": "shell", "args": {"command": "echo one > made.txt"}}
        await start(nv, steps(ask, {"text": "first"}))
        await over(nv, "✓ completed")
        assert (root / "made.txt").read_text() == "one\n"
        (asked,) = await nv.lua("return vim.g.asked")
        assert asked["prompt"].startswith("Loopline wants to run shell: echo one > made.txt")
        assert asked["items"] == ["Allow", "Always allow", "Deny", "Decide later"]

        await nv.lua("vim.g.answers = {}")
        await start(nv, steps({"call": "shell", "args": {"command": "echo two > made.txt"}}, {"text": "second"}))
        await over(nv, "◆ deny: shell echo two > made.txt")
        await nv.shows("second")
        assert (root / "made.txt").read_text() == "one\n"
        await nv.quit()


async def test_an_approval_waits_while_the_user_types_and_can_be_put_off(
    opened: Open, root: Path, model: Puppet
) -> None:
    async with opened("sums.py") as nv:
        await ready(nv)
        await nv.lua("vim.g.answers = {'Decide later'}")
        await nv.keys("i")
        await nv.until("return vim.fn.mode() == 'i'")
        await start(nv, steps({"call": "shell", "args": {"command": "echo > made.txt"}}, {"text": "end"}))
        await nv.said("an approval waits")
        assert await nv.lua("return vim.g.asked") == []
        assert (await status(nv)).startswith("● approval waits ◉")
        await nv.keys("typed<Esc>")
        await nv.until("return #vim.g.asked == 1")
        assert await nv.lua("return vim.fn.getline(1)") == 'typed"""Sums."""'
        assert not (root / "made.txt").exists()
        await nv.command("Loopline approve allow")
        await over(nv, "✓ completed")
        assert (root / "made.txt").exists()
        await nv.quit()


async def test_a_question_that_was_answered_elsewhere_does_not_hold_up_the_next(
    opened: Open, root: Path, model: Puppet
) -> None:
    """With a picker that stays open, as those of other plugins do."""
    async with opened("sums.py") as nv:
        await ready(nv)
        await nv.lua(
            """
            vim.g.prompts, _G.pickers = {}, {}
            vim.ui.select = function(items, options, done)
              _G.pickers[#_G.pickers + 1] = function(at) done(items[at], at) end
              vim.g.prompts = vim.list_extend(vim.g.prompts, { options.prompt })
            end"""
        )
        shells = [{"call": "shell", "args": {"command": f"echo {word} >> made.txt"}} for word in ("one", "two")]
        await start(nv, steps(*shells, {"text": "both"}))
        await nv.until("return #vim.g.prompts == 1")
        await nv.command("Loopline approve allow")
        await nv.until("return #vim.g.prompts == 2")
        await nv.lua("_G.pickers[1](3)")  # the first is still on screen, and is told to deny
        await nv.said("that was answered elsewhere")
        await nv.lua("_G.pickers[2](1)")
        await nv.shows("✓ completed")
        assert (root / "made.txt").read_text() == "one\ntwo\n"
        await nv.quit()


async def test_review_rejects_single_changes_and_leaves_what_the_user_changed(opened: Open, root: Path) -> None:
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        edits = [{"call": "edit", "args": {"path": "other.py", "old": f"x{n} = {n}\n", "new": f"x{n} = -{n}\n"}}
                 for n in (2, 9, 16)]  # fmt: skip
        await start(nv, steps(*edits, {"call": "shell", "args": {"command": "true"}}, {"text": "ok"}))
        await over(nv, "✓ completed")
        await nv.command("Loopline review")
        assert "3 changes, 3 to decide" in await nv.shows("other.py:17", "loopline://review")
        await nv.keys("a")  # the first is kept
        await nv.shows("3 changes, 2 to decide", "loopline://review")
        await nv.keys("x")  # the second is not
        await nv.shows("3 changes, 1 to decide", "loopline://review")
        lines = (root / "other.py").read_text().splitlines()
        assert [lines[n] for n in (2, 9, 16)] == ["x2 = -2", "x9 = 9", "x16 = -16"]
        lines[16] = "x16 = 'mine'"
        (root / "other.py").write_text("\n".join(lines) + "\n")
        await nv.keys("X")
        await nv.said("other.py stays as it is: the place was changed since")
        assert (root / "other.py").read_text().splitlines()[16] == "x16 = 'mine'"
        cursor = "return vim.api.nvim_get_current_line()"
        await nv.keys("gg]h]h")
        await nv.until("return vim.api.nvim_get_current_line():find('other.py:10', 1, true) ~= nil")
        await nv.keys("[h")
        assert "other.py:3 ✓ accepted" in await nv.lua(cursor)
        await nv.keys("<CR>")
        await nv.until("return vim.fn.expand('%:t') == 'other.py' and vim.fn.line('.') == 3")
        await nv.quit()


async def test_rejecting_gives_a_file_its_very_bytes_back(opened: Open, root: Path) -> None:
    """Line ends, byte order mark and a missing last line end, in files that are not open; open ones as well."""
    before = {
        "dos.txt": b"one\r\ntwo\r\nthree\r\n",
        "bom.txt": b"\xef\xbb\xbfone\ntwo\nthree\n",
        "bare.txt": b"one\ntwo\nthree",
        "open.txt": b"one\r\ntwo\r\nthree\r\n",
    }
    for name, data in before.items():
        (root / name).write_bytes(data)
    async with opened("sums.py", "open.txt", server={"approve": "auto"}) as nv:
        await ready(nv)
        await nv.command("edit open.txt")
        edits = [{"call": "edit", "args": {"path": name, "old": "two", "new": "2"}} for name in before]
        await start(nv, steps(*edits, {"call": "shell", "args": {"command": "true"}}, {"text": "ok"}))
        await nv.shows("✓ completed")
        assert all(b"2" in (root / name).read_bytes() for name in before)
        await nv.command("Loopline review")
        await nv.shows("4 changes, 4 to decide", "loopline://review")
        await nv.keys("X")
        await nv.shows("4 changes, 0 to decide", "loopline://review")
        assert {name: (root / name).read_bytes() for name in before} == before
        await nv.quit()


async def test_changes_of_an_earlier_editor_are_reviewed(opened: Open, root: Path) -> None:
    before = (root / "other.py").read_bytes()
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        edit = {"call": "edit", "args": {"path": "other.py", "old": "x4 = 4\n", "new": "x4 = 44\n"}}
        await start(nv, steps(edit, {"text": "ok"}))
        await nv.shows("✓ completed")
        session = await nv.lua("return require('loopline.client').here().store.current")
        await nv.quit()
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        await nv.lua("local link = require('loopline.client').here() "
                     "require('loopline.sessions').resume(link, ...)", session)  # fmt: skip
        await nv.until("return require('loopline.client').here().store.current ~= nil")
        await nv.command("Loopline review")
        await nv.shows("1 change, 1 to decide", "loopline://review")
        await nv.keys("X")
        await nv.shows("1 change, 0 to decide", "loopline://review")
        assert (root / "other.py").read_bytes() == before
        await nv.quit()


async def test_created_and_deleted_files_are_reviewed_as_a_whole(opened: Open, root: Path) -> None:
    patch = "*** Begin Patch\n*** Add File: new.py\n+a = 1\n+b = 2\n*** Delete File: other.py\n*** End Patch\n"
    old = (root / "other.py").read_text()
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        await start(nv, steps({"call": "patch", "args": {"patch": patch}}, {"text": "ok"}))
        await over(nv, "✓ completed")
        assert (root / "new.py").exists() and not (root / "other.py").exists()
        await nv.command("Loopline review")
        await nv.shows("2 changes, 2 to decide", "loopline://review")
        await nv.keys("X")
        await nv.until("return #vim.fn.glob('other.py') > 0 and #vim.fn.glob('new.py') == 0")
        assert (root / "other.py").read_text() == old
        await nv.quit()


async def test_steering_and_the_composer(opened: Open, model: Puppet) -> None:
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        await nv.command("4,5Loopline compose")
        await nv.until("return vim.fn.bufname():find('loopline://composer', 1, true) ~= nil")
        assert "sums.py:4-5" in await nv.lua("return vim.wo.winbar")
        task = steps({"hold": "first"}, {"text": "all done"}).replace("<", "<lt>")
        await nv.keys(task + "<Esc><CR>")
        await model.reached("first")
        assert "sums.py" in model.heard[0] and "return a - b" in model.heard[0], "what the range holds went along"
        assert await nv.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)") == [""]
        await nv.command("Loopline compose")
        assert "adds to the turn that runs" in await nv.lua("return vim.wo.winbar")
        await nv.keys("and be brief<C-s>")
        await nv.shows("› and be brief")
        model.release("first")
        await over(nv, "✓ completed")
        assert "and be brief" in model.heard
        await nv.quit()


async def test_cancel_by_command_and_by_progress(opened: Open, model: Puppet) -> None:
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        await start(nv, steps({"hold": "one"}))
        await model.reached("one")
        assert "loopline" in await nv.lua("return vim.iter(pairs(require('loopline.progress').pending)):nth(1)")
        await nv.command("Loopline cancel")
        await over(nv, "■ cancelled")
        await nv.until("return next(require('loopline.progress').pending) == nil")

        await start(nv, steps({"hold": "two"}))
        await model.reached("two")
        await nv.command("Loopline! cancel")
        await nv.until(f"return not ({RUNNING[7:]})")
        assert (await nv.text()).count("■ cancelled") == 2
        await nv.command("Loopline cancel")
        await nv.said("nothing runs")
        await nv.quit()


async def test_sessions_and_their_transcripts(opened: Open, model: Puppet) -> None:
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        read = {"call": "read", "args": {"path": "sums.py"}}
        await start(nv, steps(read, {"text": "the first answer"}))
        await over(nv, "✓ completed")
        first = await nv.lua("return require('loopline.client').here().store.current")
        await nv.command("Loopline new")
        await nv.until("return require('loopline.client').here().store.current ~= ...", first)
        await start(nv, steps({"text": "the second answer"}))
        await nv.until(
            """
            for _, session in pairs(require('loopline.client').here().store.sessions) do
              for _, item in ipairs(session.items) do
                if item.text == 'the second answer' then
                  return true
                end
              end
            end"""
        )
        await nv.quit()
    async with opened("sums.py", server={"approve": "auto"}, scratch="b") as nv:
        await ready(nv)
        await nv.lua(
            """
            local first = ...
            vim.ui.select = function(items, options, done)
              vim.g.listed = vim.tbl_map(options.format_item, items)
              done(vim.iter(items):find(function(item) return item.sessionId == first end))
            end""",
            first,
        )
        await nv.command("Loopline sessions")
        text = await nv.shows("the first answer")
        assert len(await nv.lua("return vim.g.listed")) == 2
        assert "● read      sums.py" in text and "the second answer" not in text
        assert "return a - b" in text, "with the output of the tool"
        await nv.quit()


async def test_a_turn_outlives_its_editor_and_is_found_again(opened: Open, root: Path, model: Puppet) -> None:
    command = "until [ -e go ]; do sleep 0.02; done; echo done > made.txt"
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        read, wait = {"call": "read", "args": {"path": "sums.py"}}, {"call": "shell", "args": {"command": command}}
        await start(nv, steps(read, wait, {"text": "so it went"}))
        await nv.shows("◌ shell")
        await nv.quit()
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        await nv.said("still runs:")
        assert (await status(nv)).startswith("◉")
        await nv.command("Loopline open")
        text = await nv.shows("◌ shell")
        assert text.startswith("▶ ") and "● read      sums.py" in text
        (root / "go").touch()
        text = await nv.shows("✓ completed", timeout_s=60)
        assert "so it went" in text and (root / "made.txt").read_text() == "done\n"
        await nv.quit()


async def test_an_approval_outlives_its_editor_and_is_asked_by_the_next(
    opened: Open, root: Path, model: Puppet
) -> None:
    async with opened("sums.py") as nv:
        await ready(nv)
        await nv.lua("vim.g.answers = {'Decide later'}")
        await start(nv, steps({"call": "shell", "args": {"command": "echo > made.txt"}}, {"text": "so be it"}))
        await nv.shows("◆ waits for you: shell echo > made.txt")
        await nv.quit()
    async with opened("sums.py", config="vim.g.answers = {'Allow'}") as nv:
        await nv.until("return #vim.g.asked > 0", timeout_s=60)
        await nv.command("Loopline open")
        text = await nv.shows("✓ completed", timeout_s=60)
        assert "◆ allow: shell echo > made.txt" in text and "so be it" in text
        assert (root / "made.txt").exists()
        await nv.quit()


async def test_a_long_session_is_read_page_by_page(opened: Open, model: Puppet) -> None:
    read = {"calls": [["read", {"path": "other.py", "start": line, "end": line}] for line in range(1, 21)]}
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        await start(nv, steps(*[read] * 11, {"text": "that was much"}))
        await nv.shows("✓ completed", timeout_s=60)
        session = await nv.lua("return require('loopline.client').here().store.current")
        await nv.quit()
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        await nv.lua("local link = require('loopline.client').here() "
                     "require('loopline.sessions').resume(link, ...)", session)  # fmt: skip
        await nv.until("return require('loopline.client').here().store.current ~= nil")
        await nv.command("Loopline open")
        text = await nv.shows("… earlier")
        assert text.count("● read") < 200 and "that was much" in text
        await nv.keys("gg<CR>")
        await nv.until("return not vim.fn.getline(1):find('earlier')")
        text = await nv.text()
        assert text.count("● read") == 220 and text.startswith("✓ "), text[:200]
        await nv.quit()


async def test_the_window_may_be_elsewhere(opened: Open) -> None:
    async with opened("sums.py", window="bottom", height=9) as nv:
        await nv.lua("vim.o.lines, vim.o.columns = 40, 100")
        await ready(nv)
        await nv.command("Loopline open")
        await nv.until("return vim.fn.winnr('$') == 2")
        assert await nv.lua("return { vim.fn.winheight(2), vim.fn.winwidth(2) }") == [8, 100], "and the line above"
        await nv.lua("require('loopline').setup({ cmd = vim.g.loopline_cmd or require('loopline.config').get().cmd, "
                     "window = 'left', width = 40 })")  # fmt: skip
        await nv.command("Loopline close")
        await nv.command("Loopline open")
        await nv.until("return vim.fn.winnr('$') == 2")
        assert await nv.lua("return { vim.fn.winwidth(1), vim.fn.bufname(vim.fn.winbufnr(2)) }") == [40, "sums.py"]
        await nv.quit()


async def test_what_a_menu_asks_for_is_written_in_the_composer(opened: Open, model: Puppet) -> None:
    """The server's "Ask Loopline to change this…" on a selection."""
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        await nv.lua(
            """
            local client = vim.lsp.get_clients({ name = 'loopline' })[1]
            client:exec_cmd({ title = '', command = 'loopline.ask', arguments = { {
              textDocument = { uri = vim.uri_from_bufnr(0) },
              range = { start = { line = 3, character = 0 }, ['end'] = { line = 4, character = 9 } },
            } } })"""
        )
        await nv.until("return vim.fn.bufname():find('loopline://composer', 1, true) ~= nil")
        assert "sums.py:4-5" in await nv.lua("return vim.wo.winbar")
        await nv.command("bwipeout! sums.py")
        await nv.keys("<Esc>itell me<C-s>")
        await nv.shows("✓ completed")
        assert "return a - b" not in model.heard[0], "what was closed is not sent"
        await nv.quit()


async def test_diagnostics_of_other_tools_reach_the_agent(opened: Open, model: Puppet) -> None:
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        await nv.lua(
            """
            vim.g.sent = 0
            vim.api.nvim_create_autocmd('LspNotify', { callback = function(args)
              if args.data.method == 'loopline/diagnostics' then
                vim.g.sent = vim.g.sent + 1
              end
            end })
            vim.diagnostic.set(vim.api.nvim_create_namespace('tool'), 0, {
              { lnum = 4, col = 11, message = 'minus is suspicious', severity = 2, source = 'lint' },
            })"""
        )
        await nv.until("return vim.g.sent > 0")
        await start(nv, steps({"call": "diagnostics", "args": {}}, {"text": "seen"}))
        await over(nv, "✓ completed")
        assert "minus is suspicious" in model.outputs[0] and "sums.py" in model.outputs[0]
        await nv.command("Loopline fix")
        await nv.said("there is no diagnostic on this line")
        await nv.lua("vim.api.nvim_win_set_cursor(0, { 5, 0 })")
        await nv.command("Loopline fix")
        await nv.shows("✓ Fix this problem: minus is suspicious")
        await nv.quit()


async def test_a_session_of_thousands_of_items_stays_quick(opened: Open) -> None:
    async with opened("sums.py", server={"approve": "auto"}) as nv:
        await ready(nv)
        await start(nv, steps({"text": "hello"}))
        await over(nv, "✓ completed")
        took = await nv.lua(
            """
            local link = require('loopline.client').here()
            local client, events = require('loopline.client'), require('loopline.events')
            local function told(...)
              events.fold(link.store, { seq = link.store.seq + 1, events = { ... } })
              client.tell('changed', link)
            end
            local id = link.store.current
            told({ type = 'turn.started', sessionId = id, turnId = 't', title = 'many' })
            local many = {}
            for number = 1, 5000 do
              many[number] = { type = 'tool.finished', sessionId = id, turnId = 't', toolCallId = tostring(number),
                name = 'read', status = 'ok', summary = 'line\\n', diff = '', durationMs = 1 }
            end
            told(unpack(many))
            vim.cmd.redraw()
            local began = vim.uv.hrtime()
            for number = 1, 100 do
              told({ type = 'text.delta', sessionId = id, turnId = 't', text = 'word ' .. number .. '\\n' })
              vim.cmd.redraw()
            end
            return (vim.uv.hrtime() - began) / 1e6 / 100"""
        )
        print(f"{took:.2f} ms for each piece of text after 5,000 items")
        assert took < 40
        await nv.quit()
