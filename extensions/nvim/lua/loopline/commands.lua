---`:Loopline …`: the subcommands, their completion and their words, from which the help page is made too.

local client = require("loopline.client")
local text = require("loopline.text")

local M = {}

---@class loopline.Invocation
---@field words string All that follows the subcommand.
---@field args string[]
---@field bang boolean
---@field place? loopline.Ask Of a range.

---@class loopline.Subcommand
---@field name string
---@field args? string
---@field words string
---@field run fun(link: loopline.Link, call: loopline.Invocation)
---@field complete? fun(link?: loopline.Link, lead: string): string[]
---@field offline? boolean It needs no server.

---@param link? loopline.Link
---@param which fun(turn: loopline.TurnState): boolean
---@return string[]
local function turns_of(link, which)
  local session = link and require("loopline.state").current(link.store)
  local found = {}
  for _, id in ipairs(session and session.order or {}) do
    if which(session.turns[id]) then
      table.insert(found, 1, id)
    end
  end
  return found
end

---@param turn loopline.TurnState
local function is_live(turn)
  return turn.status == "running" or turn.status == "queued"
end

---@type loopline.Subcommand[]
M.LIST = {
  {
    name = "open",
    words = "Show the session, and go there. `:Loopline` alone shows or hides it.",
    run = function(link)
      require("loopline.window").open(link, { focus = true })
    end,
  },
  {
    name = "close",
    offline = true,
    words = "Hide the session; what runs goes on.",
    run = function()
      require("loopline.window").close()
    end,
  },
  {
    name = "start",
    args = "{task}",
    words = "Start a turn. With a range it is about those lines.",
    run = function(link, call)
      require("loopline.turns").start(link, {
        task = call.words,
        textDocument = call.place and call.place.textDocument,
        range = call.place and call.place.range,
      })
    end,
  },
  {
    name = "plan",
    args = "{task}",
    words = "Start a turn that changes nothing and answers with a plan; without a task, carry the plan out.",
    run = function(link, call)
      local planned = vim.trim(call.words or "") ~= ""
      local task = planned and call.words or "Carry out the plan."
      require("loopline.turns").start(link, { task = task, mode = planned and "plan" or "act" })
    end,
  },
  {
    name = "answer",
    words = "Answer what the model asks.",
    run = function(link)
      require("loopline.questions").consider(link, true)
    end,
  },
  {
    name = "compose",
    words = "Write to the agent; with a range, about those lines. While a turn runs it adds to it.",
    run = function(link, call)
      require("loopline.composer").open(link, call.place)
    end,
  },
  {
    name = "fix",
    words = "Start a turn that fixes the diagnostic on the cursor's line.",
    run = function(link)
      require("loopline.turns").fix(link, vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1] - 1)
    end,
  },
  {
    name = "steer",
    args = "{text}",
    words = "Say something to the turn that runs.",
    run = function(link, call)
      require("loopline.turns").steer(link, call.words)
    end,
  },
  {
    name = "cancel",
    args = "[turn]",
    words = "Stop the turn that runs, or the one named. With `!` whatever reports progress is stopped.",
    run = function(link, call)
      if call.bang then
        require("loopline.progress").cancel_all(link)
      else
        require("loopline.turns").cancel(link, call.args[1])
      end
    end,
    complete = function(link)
      return turns_of(link, is_live)
    end,
  },
  {
    name = "approve",
    args = "[allow|always|deny]",
    words = "Answer the oldest approval that waits; without a word you are asked.",
    run = function(link, call)
      local approvals, waiting = require("loopline.approvals"), link.store.approvals[1]
      local answer = call.args[1]
      if not answer or not waiting then
        approvals.next(link)
      elseif answer == "allow" or answer == "always" or answer == "deny" then
        approvals.answer(link, waiting.approvalId, answer)
      else
        client.notify("an answer is allow, always or deny", vim.log.levels.ERROR)
      end
    end,
    complete = function()
      return { "allow", "always", "deny" }
    end,
  },
  {
    name = "review",
    words = "Review what the session changed, change by change.",
    run = function(link)
      require("loopline.review").open(link)
    end,
  },
  {
    name = "undo",
    args = "[turn]",
    words = "Take back what the latest turn, or the one named, did to files.",
    run = function(link, call)
      require("loopline.turns").undo(link, call.args[1])
    end,
    complete = function(link)
      return turns_of(link, function(turn)
        return not is_live(turn)
      end)
    end,
  },
  {
    name = "redo",
    words = "Take back the latest undo.",
    run = function(link)
      require("loopline.turns").redo(link)
    end,
  },
  {
    name = "sessions",
    words = "Choose an earlier session, or one that runs elsewhere, and show it.",
    run = function(link)
      require("loopline.sessions").choose(link)
    end,
  },
  {
    name = "new",
    words = "Begin a new session.",
    run = function(link)
      require("loopline.sessions").new(link, function()
        require("loopline.window").open(link, { focus = true })
      end)
    end,
  },
  {
    name = "compact",
    words = "Make the conversation on show shorter.",
    run = function(link)
      if link.store.current then
        client.exec(link, "loopline.session.compact", { sessionId = link.store.current })
      else
        client.notify("there is no session yet", vim.log.levels.WARN)
      end
    end,
  },
  {
    name = "model",
    args = "[name]",
    words = "Choose the model of new turns.",
    run = function(link, call)
      require("loopline.models").choose(link, call.args[1])
    end,
    complete = function(link)
      return link and require("loopline.models").known[link.root] or {}
    end,
  },
  {
    name = "key",
    args = "[provider]",
    words = "Set the key of a provider (`openai` without a name). It is asked for and goes to the server's key store.",
    run = function(link, call)
      require("loopline.models").set_key(link, call.args[1])
    end,
    complete = function()
      return { "openai", "upstream" }
    end,
  },
  {
    name = "trust",
    args = "[folder]",
    words = "Trust the project's folder, or another: it may then configure and start things.",
    run = function(link, call)
      require("loopline.models").trust(link, call.words ~= "" and call.words or nil)
    end,
    complete = function(_, lead)
      return vim.fn.getcompletion(lead, "dir")
    end,
  },
  {
    name = "dashboard",
    words = "Open the dashboard in the browser.",
    run = function(link)
      require("loopline.models").dashboard(link)
    end,
  },
  {
    name = "status",
    words = "Say how things stand: model, connection, turn, approvals, settings.",
    run = function(link)
      client.request(link, "loopline/status", {}, function(answer)
        local lines = {}
        for _, category in ipairs(answer.categories or {}) do
          lines[#lines + 1] = ("%-11s %s"):format(category.category, text.one_line(category.text, 200))
        end
        vim.notify(table.concat(lines, "\n"))
      end)
    end,
  },
  {
    name = "restart",
    offline = true,
    words = "Stop the server of this folder and start it again.",
    run = function(link)
      require("loopline.life").stop(link, true)
    end,
  },
  {
    name = "stop",
    offline = true,
    words = "Stop the server of this folder, and what runs there.",
    run = function(link)
      require("loopline.life").stop(link, false)
    end,
  },
  {
    name = "log",
    offline = true,
    words = "Open Neovim's log of language servers; errors of the server are in it.",
    run = function()
      vim.cmd.tabedit(vim.fn.fnameescape(vim.lsp.log.get_filename()))
    end,
  },
}

---@param name string
---@return loopline.Subcommand?
local function find(name)
  for _, one in ipairs(M.LIST) do
    if one.name == name then
      return one
    end
  end
end

---@param name string
---@param args? string[]
---@param more? {words?: string, bang?: boolean, place?: loopline.Ask}
function M.run(name, args, more)
  local one = find(name)
  if not one then
    client.notify(("there is no `:Loopline %s`"):format(text.one_line(name, 40)), vim.log.levels.ERROR)
    return
  end
  more = more or {}
  local call = { args = args or {}, words = more.words or table.concat(args or {}, " "), bang = more.bang == true }
  call.place = more.place
  if one.offline then
    local link = client.here()
    if link then
      one.run(link, call)
    else
      client.notify("no project folder here", vim.log.levels.ERROR)
    end
  else
    client.with(function(link)
      one.run(link, call)
    end)
  end
end

---@param command vim.api.keyset.create_user_command.command_args
function M.command(command)
  local name, words = command.args:match("^(%S+)%s*(.*)$")
  if not name then
    if require("loopline.window").window() then
      require("loopline.window").close()
    else
      M.run("open")
    end
    return
  end
  local place
  if command.range > 0 then
    place = require("loopline.composer").place(vim.api.nvim_get_current_buf(), command.line1, command.line2)
  end
  local args = vim.split(words, "%s+", { trimempty = true })
  M.run(name, args, { words = vim.trim(words), bang = command.bang, place = place })
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local before = line:gsub("^.-Loopline!?%s*", "", 1)
  local name = before:match("^(%S+)%s")
  local found
  if not name then
    found = vim.tbl_map(function(one)
      return one.name
    end, M.LIST)
  else
    local one = find(name)
    found = one and one.complete and one.complete(client.here(), lead) or {}
  end
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, found)
end

return M
