---The help page, made from the definitions of options, commands, keys and colours. Pure: it returns the text.
---
---`nvim -l scripts/doc.lua` writes `doc/loopline.txt`; a test fails while the two differ.

local commands = require("loopline.commands")
local config = require("loopline.config")
local highlights = require("loopline.highlights")
local keys = require("loopline.keys")

local M = {}

local WIDTH = 78

---@param words string
---@param indent integer
---@return string[]
local function wrapped(words, indent)
  local lines, line = {}, ""
  local margin = (" "):rep(indent)
  for word in words:gmatch("%S+") do
    if line ~= "" and indent + #line + 1 + #word > WIDTH then
      lines[#lines + 1] = margin .. line
      line = word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  lines[#lines + 1] = margin .. line
  return lines
end

---@param left string
---@param tag string
---@return string
local function tagged(left, tag)
  local right = ("*%s*"):format(tag)
  return left .. (" "):rep(math.max(2, WIDTH - #left - #right)) .. right
end

---@class loopline.Help
local Help = {}
Help.__index = Help

---@param ... string
function Help:add(...)
  vim.list_extend(self.lines, { ... })
end

---@param words string
---@param indent? integer
function Help:say(words, indent)
  vim.list_extend(self.lines, wrapped(words, indent or 0))
end

---@param title string
---@param tag string
function Help:section(title, tag)
  self:add("", ("="):rep(WIDTH), tagged(title:upper(), tag), "")
end

---@param list loopline.Key[]
---@param title string
function Help:keys(list, title)
  self:add(title .. " ~", "")
  for _, key in ipairs(list) do
    local first = wrapped(key.words, 16)
    local names = table.concat(key.keys, " ")
    first[1] = ("    %-12s%s"):format(names, vim.trim(first[1]))
    self:add(unpack(first))
  end
  self:add("")
end

---@param ... string
function Help:code(...)
  self:add(">lua")
  for _, line in ipairs({ ... }) do
    self:add("    " .. line)
  end
  self:add("<")
end

---@return string
function M.text()
  local help = setmetatable({ lines = {} }, Help)
  help:add("*loopline.txt*  A coding agent, its work and its figures in Neovim", "")
  help:say(
    "Loopline keeps one connection to the model open and shows where every millisecond and token goes. This "
      .. "plugin is a thin client of its language server, `loopline lsp`. It needs Neovim 0.11 and nothing else."
  )
  help:section("Start", "loopline")
  help:say(
    "Install the server so that `loopline` is on PATH (see its README; nothing is fetched by this plugin), put "
      .. "this folder on 'runtimepath', and enable it:"
  )
  help:code('vim.lsp.enable("loopline")')
  help:say("or, with options:")
  help:code('require("loopline").setup({ server = { approve = "ask" } })')
  help:say(
    "Neither is needed: the first |:Loopline| starts the server of the folder. |:checkhealth| says what is "
      .. "missing: `:checkhealth loopline`."
  )
  help:add("")
  help:say(
    "Then ask for a turn: `:Loopline start make the failing test pass`, or a code action on a diagnostic "
      .. "(|vim.lsp.buf.code_action()|), or write in the composer (|:Loopline-compose|). Without a key and a model the "
      .. "server uses `repair`, which is a search over program edits and no model; the status line says so. Set a key "
      .. "with |:Loopline-key| and choose a model with |:Loopline-model|."
  )
  help:section("Options", "loopline-options")
  help:say("They come from `vim.g.loopline` or from `setup()`, which wins. What is not valid is said, and left out.")
  for _, option in ipairs(config.OPTIONS) do
    local default = vim.inspect(option.default, { newline = " ", indent = "" })
    help:add("", tagged(("%s (%s)"):format(option.name, option.kind:gsub('"', "")), "loopline-option-" .. option.name))
    help:add(unpack(wrapped("default: " .. default, 4)))
    help:say(option.words, 4)
  end
  help:section("Settings of the server", "loopline-server-settings")
  help:say(
    "The option `server` holds them: `baseUrl`, `model`, `approve` (auto, ask, never), `trusted`, `transport`, "
      .. "`project`, `python`, `deny`, `codeLens`, `aiComments`, `inlineCompletion`, "
      .. "`approvalTimeoutS`. The server's README says what they mean. Settings of |vim.lsp.config()| are not sent: "
      .. "other plugins merge a project's into them."
  )
  help:section("Commands", "loopline-commands")
  help:add(tagged(":[range]Loopline[!] {subcommand} …", ":Loopline"))
  help:say("Subcommands and their arguments complete. Without one the session is shown or hidden.", 4)
  for _, one in ipairs(commands.LIST) do
    local left = ":Loopline " .. one.name .. (one.args and " " .. one.args or "")
    help:add("", tagged(left, ":Loopline-" .. one.name))
    help:say(one.words, 4)
  end
  help:section("Keys", "loopline-keys")
  help:say("In the plugin's own buffers; nothing is mapped elsewhere.")
  help:add("")
  help:keys(keys.SESSION, "Session")
  help:keys(keys.REVIEW, "Review")
  help:keys(keys.COMPOSER, "Composer")
  help:say("In the composer CTRL-X CTRL-U completes `@path` with files of the folder.")
  help:section("Approvals", "loopline-approvals")
  help:say(
    "What a turn may not do by itself is asked through |vim.ui.select()|: Allow, Always allow (where that would "
      .. "be kept), Deny, Decide later. Dismissing the question denies. It never comes while you type. The server owns "
      .. "the question: it can be answered from a terminal or the dashboard too, and the first answer counts."
  )
  help:section("Review", "loopline-review")
  help:say(
    "A turn edits your files as it goes, through your buffers where they are open. |:Loopline-review| lists "
      .. "the changes. Rejecting one puts the old text back and saves the file, unless it has unsaved changes of "
      .. "yours; where you changed the same place since, it is left alone and said. |:Loopline-undo| takes back a "
      .. "whole turn."
  )
  help:section("Status line", "loopline-statusline")
  help:code([[vim.o.statusline = "%f %= %{%v:lua.require'loopline'.statusline()%}"]])
  help:say(
    "While a turn runs: `◉ 812 tok/s · 92 ms · 94 % ⟲`, that is tokens per second, time to the first token of "
      .. "the latest call, the share of its input that was cached, and how it reused the connection (⟲ reused, ↑ sent "
      .. "in full, ↯ reconnected). What the latest call can't tell yet is of the one before; what is not known is –. "
      .. "`● approval waits` comes before it. |User| `LooplineStatus` is triggered when it changed."
  )
  help:section("Functions", "loopline-functions")
  help:add(tagged("require('loopline').setup({options})", "loopline.setup()"))
  help:say("Set options and enable the server for files.", 4)
  help:add("", tagged("require('loopline').start({task}, {place})", "loopline.start()"))
  help:say("Start a turn; `place` is `{ textDocument = { uri = … }, range = … }` or nil.", 4)
  help:add("", tagged("require('loopline').statusline({options})", "loopline.statusline()"))
  help:say("The component; `{ coloured = true }` with highlight groups.", 4)
  help:section("Colours", "loopline-highlights")
  for _, group in ipairs(highlights.GROUPS) do
    help:add(("    %-20s%s"):format(group[1], group[3]))
  end
  help:add("")
  help:say(
    "Those with colours of their own also exist as `LooplineStatus…` for the status line, whose background may be "
      .. "another."
  )
  help:section("What is kept, and what leaves", "loopline-privacy")
  help:say(
    "Which session was on show in a folder is noted in |stdpath()| `state`. A key goes to the server only, is "
      .. "in no history and, whatever its level, in no log. The text of models and tools is shown as text: escape "
      .. "sequences and control characters are taken out, nothing in it is run or fetched."
  )
  help:add("", "vim:tw=78:ts=8:noet:ft=help:norl:")
  return table.concat(help.lines, "\n") .. "\n"
end

return M
