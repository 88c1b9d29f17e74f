"""Projects, a service whose answers are in the task, and editors on them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.support.editors.nvim import Nvim, editor, nvim, setup
from tests.support.lsp.puppet import Puppet, puppet, puppet_env

SUMS = '"""Sums."""\n\n\ndef add(a, b):\n    return a - b  # héllo 😀\n\n\ndef twice(a):\n    return add(a, a)\n'
ANSWERS = """
    vim.g.asked = {}
    vim.ui.select = function(items, options, done)
      local asked = vim.g.asked
      local shown = vim.tbl_map(options.format_item or tostring, items)
      asked[#asked + 1] = { prompt = options.prompt, kind = options.kind or '', items = shown }
      vim.g.asked = asked
      for _, wanted in ipairs(vim.g.answers or {}) do
        for at, words in ipairs(shown) do
          if words:find(wanted, 1, true) then
            return done(items[at], at)
          end
        end
      end
      done(nil, nil)
    end
"""
"""`vim.ui.select` takes the first choice with one of `vim.g.answers` in it; without one it is dismissed."""

READY = "local link = require('loopline.client').here(); return link and link.server == 'ready'"


@pytest.fixture(autouse=True)
def neovim() -> Path:
    return nvim()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "sums.py").write_text(SUMS, encoding="utf-8")
    (folder / "other.py").write_text("".join(f"x{number} = {number}\n" for number in range(20)))
    return folder


@pytest.fixture
async def model() -> AsyncIterator[Puppet]:
    async with puppet() as found:
        yield found


Open = Callable[..., AbstractAsyncContextManager[Nvim]]


@pytest.fixture
def opened(tmp_path: Path, root: Path, model: Puppet) -> Open:
    """An editor on the project that uses the puppet."""

    def open_editor(*files: str, config: str = "", **options: Any) -> Any:
        own = {name: options.pop(name) for name in ("scratch", "inside") if name in options}
        env = puppet_env(tmp_path, model)
        return editor(tmp_path, root, env, f"{ANSWERS}{setup(**options)}\n{config}", *files, **own)

    return open_editor


async def ready(editor: Nvim) -> None:
    await editor.until(READY, timeout_s=60)


async def start(editor: Nvim, task: str) -> None:
    """Ask for a turn as another plugin would."""
    await editor.lua("require('loopline').start(...)", task)


def lua(value: Any) -> str:
    """A value as a Lua expression."""
    return f"vim.json.decode({json.dumps(json.dumps(value))})"
