"""Whatever a field of an event holds, the editor draws it and does nothing else: every event and every hostile text in
one real Neovim with the session on screen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec

from lsp_server.protocol.events import AnyEvent
from tests.interaction.nvim.conftest import ANSWERS
from tests.support.editors.nvim import Nvim, editor
from tests.support.system.cli import environment
from tests.support.system.hostile_text import HOSTILE, filled, trouble

RUN = "let g:pwned=1"
OWN: Mapping[str, str] = {
    "status line": f"%{{execute('{RUN}')}}%{{%execute('{RUN}')%}}%!execute('{RUN}')%@Pwned@x%X%=%#Error#",
    "modeline": f"x\n/* vim: set foldmethod=expr foldexpr=execute('{RUN}'): */\nvim: statusline=%{{execute('{RUN}')}}",
    "commands": f"|{RUN}|\n:{RUN}\n<C-\\><C-N>:{RUN}<CR>\n`touch pwned`\n$(touch pwned)",
    "lua": f"]]..vim.cmd('{RUN}')..[[ \\\"..vim.cmd('{RUN}')..\\\"",
}
SETUP = """
    local root = vim.fn.getcwd()
    local client = require('loopline.client')
    local link = client.link_of(root)
    link.client = { id = 999, offset_encoding = 'utf-8', request = function() return true, 1 end }
    link.server = 'ready'
    local function note(words)
      local said = vim.g.said or {}
      said[#said + 1] = words
      vim.g.said = said
    end
    vim.notify = note
    vim.ui.input = function(options) note(options.prompt) end
    vim.o.modeline, vim.o.laststatus, vim.o.statusline = true, 2, "%{%v:lua.require'loopline'.statusline()%}"
"""
TELL = """
    local session, events, seq = ...
    local client, state = require('loopline.client'), require('loopline.state')
    local link = client.of_client(999)
    state.session(link.store, session)
    link.store.current = session
    require('loopline.window').open(link, { focus = true })
    require('loopline.handlers').handlers['$/loopline/event'](
      nil, { seq = seq, events = events }, { client_id = 999 })
    require('loopline.window').open(link, { focus = true })
    vim.cmd.redraw()
"""
SEEN = """
    vim.cmd('normal! zR')
    vim.cmd.redraw()
    local win, buf = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
    local found = { vim.api.nvim_buf_get_name(buf), require('loopline').statusline() }
    vim.list_extend(found, vim.api.nvim_buf_get_lines(buf, 0, -1, false))
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, { details = true })) do
      for _, chunk in ipairs(mark[4].virt_text or {}) do
        found[#found + 1] = chunk[1]
      end
    end
    for _, line in ipairs({ vim.wo[win].winbar, vim.o.statusline }) do
      found[#found + 1] = vim.api.nvim_eval_statusline(line, { winid = win, maxwidth = 500 }).str
    end
    found[#found + 1] = vim.wo[win].winbar
    vim.list_extend(found, vim.g.said or {})
    for _, asked in ipairs(vim.g.asked or {}) do
      found[#found + 1] = asked.prompt
      vim.list_extend(found, asked.items)
    end
    vim.g.said, vim.g.asked = {}, {}
    return found
"""


LONG = """
    local link, asks = require('loopline.client').of_client(999), require('loopline.approvals')
    local subject = ('y '):rep(2000) .. 'END'
    link.store.approvals = {
      { approvalId = 'long', sessionId = 's', turnId = 't', kind = 'command', name = 'shell', subject = subject },
    }
    vim.g.asked, vim.g.answers = {}, { 'Show all of it' }
    asks.next(link)
    local first = vim.g.asked[1].items
    local whole = vim.api.nvim_buf_get_lines(0, 0, -1, false)[1] == subject
    vim.g.asked, vim.g.answers = {}, { 'Decide later' }
    asks.next(link)
    return { first, whole, vim.tbl_contains(vim.g.asked[1].items, 'Allow') }
"""


def told(kind: type[Any], text: str, session: str) -> Any:
    event = msgspec.to_builtins(filled(kind, text))
    for place in (event, event.get("approval")):
        if isinstance(place, dict) and "sessionId" in place:
            place["sessionId"] = session
    if "arguments" in event:
        event["arguments"] = json.dumps({"command": text, text: text, "path": text})
    if "diff" in event and isinstance(event["diff"], str):
        event["diff"] = f"--- a/{text}\n+++ b/{text}\n@@ -1 +1 @@\n-{text}\n+{text}\n"
    return event


async def _tell(nv: Nvim, number: int, text: str) -> list[str]:
    session = f"01J{number:05d}"
    events = [told(kind, text, session) for kind in get_args(AnyEvent)]
    await nv.lua(TELL, session, events, number + 1)
    asking = [event for event in events if event["type"] in ("approval.opened", "question")]
    assert len(asking) == 2
    await nv.lua(TELL, session, asking, number + 1)
    await nv.until("return #(vim.g.asked or {}) > 0")
    await nv.until("return not require('loopline.client').of_client(999).store.sessions[...].reset", session)
    return [str(each) for each in await nv.lua(SEEN)]


async def test_every_field_of_every_event(tmp_path: Path, root: Path) -> None:
    config = f"{ANSWERS}require('loopline').setup({{ cmd = {{ 'no-such-loopline' }} }})"
    async with editor(tmp_path, root, environment(tmp_path), config) as nv:
        await nv.lua(SETUP)
        for number, (name, text) in enumerate({**HOSTILE, **OWN}.items()):
            if name == "surrogate":
                continue  # never leaves the server
            seen = await _tell(nv, number, text)
            assert len(seen) > 20, name
            assert not trouble("\n".join(seen).encode()), name
            assert await nv.lua("return vim.g.pwned") is None, name
            screen = "\n".join(seen)
            if name == "status line":
                assert "%{execute(" in screen
            if name == "commands":
                assert "`touch pwned`" in screen
            if name == "long":
                assert any(each.startswith("Loopline wants to") and "bytes)" in each for each in seen)
                assert "Show all of it" in seen and "Allow" not in seen
        assert await nv.lua(LONG) == [["Show all of it", "Deny", "Decide later"], True, True]
        assert not (root / "pwned").exists()
        assert await nv.lua("return vim.v.errmsg") == ""
        await nv.quit()
