"""The whole story in the editor, on a project whose bug is drawn: from a code action on a failing test to a fix that is
reviewed, kept, taken back and brought again."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

from tests.interaction.nvim.conftest import ANSWERS, ready
from tests.support.agent.sample import OTHER_BUGS, copy_with
from tests.support.editors.nvim import Nvim, editor, setup
from tests.support.system.cli import environment

SEED = int(os.environ.get("LOOPLINE_SEED", "20261130"))

RECORDER = """
    vim.g.status, vim.g.figures, vim.g.bars = {}, {}, {}
    local function keep(name, value)
      local kept = vim.g[name]
      if value ~= '' and kept[#kept] ~= value and #kept < 500 then
        kept[#kept + 1] = value
        vim.g[name] = kept
      end
    end
    local function look()
      keep('status', require('loopline').statusline())
      local space = vim.api.nvim_create_namespace('loopline.figures')
      for buf in pairs(require('loopline.view').views) do
        for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, space, 0, -1, { details = true })) do
          keep('figures', mark[4].virt_text[1][1])
        end
        for _, win in ipairs(vim.fn.win_findbuf(buf)) do
          keep('bars', vim.wo[win].winbar)
        end
      end
    end
    vim.uv.new_timer():start(0, 15, vim.schedule_wrap(look))
"""
"""Keeps what the status line, the right edge of the session and the line above it said."""

FIGURES = re.compile(r"◉ [\d,.]+ tok/s · [\d.]+ m?s · (\d+ %|–)( [⟲↑])?")


def failing_test(root: Path) -> tuple[str, int, str]:
    """File and line (from 0) of a test that fails, and what it says."""
    said = run_tests(root)
    assert said.returncode == 1
    found = re.search(r'File "(.*?/tests/test_\w+\.py)", line (\d+)', said.stderr)
    assert found is not None
    first = said.stderr.split("-" * 70)[1].split("=" * 70)[0].strip().splitlines()
    return found[1], int(found[2]) - 1, first[-1]


def run_tests(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "unittest", "discover", "tests", "-t", "."]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60)


async def ended(nv: Nvim, status: str, timeout_s: float = 90) -> None:
    code = """
        local session = require('loopline.state').current(require('loopline.client').here().store)
        local last = session and session.items[#session.items]
        return last and last.kind == 'end' and last.status"""
    assert await nv.until(code, timeout_s=timeout_s) == status, await nv.text()


async def test_from_a_failing_test_to_a_reviewed_fix_and_back(tmp_path: Path) -> None:
    bug = random.Random(SEED).choice(sorted(OTHER_BUGS))
    print(f"seed {SEED}: {bug}")
    root = copy_with(tmp_path / "project", bug)
    changed, *_ = OTHER_BUGS[bug]
    broken = (root / changed).read_bytes()
    file, line, message = failing_test(root)
    config = f"{ANSWERS}{setup()}{RECORDER}vim.g.answers = {{'Fix with Loopline', 'Allow'}}"

    async with editor(tmp_path, root, environment(tmp_path / "home"), config, file, changed) as nv:
        await nv.lua("vim.o.columns, vim.o.lines = 140, 45")
        await ready(nv)
        await nv.lua(
            """
            local line, message = ...
            vim.api.nvim_win_set_cursor(0, { line + 1, 0 })
            vim.diagnostic.set(vim.api.nvim_create_namespace('runner'), 0,
              { { lnum = line, col = 0, message = message, severity = 1, source = 'unittest' } })""",
            line, message,
        )  # fmt: skip
        await nv.command("buffer " + changed)
        await nv.command("buffer " + file)
        await nv.lua("vim.lsp.buf.code_action()")
        await nv.shows("▶ Fix this problem")
        assert await nv.lua("return vim.fn.winnr('$')") == 2
        assert await nv.lua("return vim.api.nvim_buf_get_name(0)") == file, "the cursor stays where it is"
        await ended(nv, "completed")

        asked = await nv.lua("return vim.g.asked")
        approvals = [one for one in asked if one["kind"] == "loopline_approval"]
        assert approvals and all(one["prompt"].startswith("Loopline wants to run ") for one in approvals)
        assert "◆ allow: checks" in await nv.text()
        await nv.until("local all = vim.g.status; return all[#all] == 'repair (no model)'")
        status, figures, bars = await nv.lua("return { vim.g.status, vim.g.figures, vim.g.bars }")
        assert any(FIGURES.search(one) for one in status), status
        assert any(FIGURES.search(f"◉ {one}") for one in figures), figures
        assert any("approval waits" in one for one in status), status
        assert any("Fix this problem" in one and "%#LooplineInference#" in one for one in bars), bars

        fixed = (root / changed).read_bytes()
        assert fixed != broken and run_tests(root).returncode == 0
        shown = await nv.lua(
            "return table.concat(vim.fn.getbufline(vim.fn.bufnr(...), 1, '$'), '\\n') .. '\\n'", changed
        )
        assert shown.encode() == fixed, "the buffer shows what is on disk"

        await nv.command("Loopline review")
        review = await nv.shows(f"@@ {changed}:", "loopline://review")
        assert "1 change, 1 to decide" in review
        await nv.keys("]ha")
        assert "1 change, 0 to decide" in await nv.shows("✓ accepted", "loopline://review")
        assert (root / changed).read_bytes() == fixed
        await nv.keys("q")

        await nv.command("Loopline undo")
        await nv.shows(f"↶ took back {changed}")
        assert (root / changed).read_bytes() == broken
        await nv.command("Loopline redo")
        await nv.until("local _, times = require('loopline.state').current(require('loopline.client').here().store), 0 "
                       "for _, item in ipairs(_.items) do times = times + (item.kind == 'undone' and 1 or 0) end "
                       "return times == 2")  # fmt: skip
        assert (root / changed).read_bytes() == fixed
        assert run_tests(root).returncode == 0
        await nv.quit()
