---Loopline in Neovim. `setup()` is optional: `vim.lsp.enable("loopline")` or the first `:Loopline` does as well.

local M = {}

local wired = false

---Connect the modules; once, however Loopline is started.
function M.wire()
  if wired then
    return
  end
  wired = true
  local client = require("loopline.client")
  for _, name in ipairs({ "highlights", "progress", "sessions", "window", "review", "approvals" }) do
    require("loopline." .. name).setup()
  end
  client.on("events", function(link, events)
    require("loopline.turns").heard(link, events)
  end)
  client.on("changed", function(link)
    require("loopline.approvals").consider(link)
    require("loopline.questions").consider(link)
    M.redraw()
  end)
  client.on("lost", function(link)
    for token, one in pairs(require("loopline.progress").pending) do
      if not vim.lsp.get_client_by_id(one.client_id) then
        require("loopline.progress").pending[token] = nil
      end
    end
    link.refetching = false
  end)
  local group = vim.api.nvim_create_augroup("loopline", {})
  vim.api.nvim_create_autocmd({ "DiagnosticChanged", "LspAttach" }, {
    group = group,
    callback = function(args)
      require("loopline.findings").soon(args.buf)
    end,
  })
end

local pending_redraw = false

---Status lines are drawn anew at most a few times a second, and `User LooplineStatus` says so.
function M.redraw()
  if pending_redraw then
    return
  end
  pending_redraw = true
  vim.defer_fn(function()
    pending_redraw = false
    vim.cmd.redrawstatus({ bang = true })
    vim.api.nvim_exec_autocmds("User", { pattern = "LooplineStatus", modeline = false })
  end, 100)
end

---Set options and enable the server for files.
---@param options? table<string, any> See |loopline-options|.
function M.setup(options)
  for _, problem in ipairs(require("loopline.config").set(options)) do
    require("loopline.client").notify(problem, vim.log.levels.WARN)
  end
  M.wire()
  vim.lsp.enable("loopline")
end

---The component for a status line: state, tokens per second, time to first token, cached share, reuse.
---@param options? {coloured?: boolean}
---@return string "" where Loopline does not run
function M.statusline(options)
  local link = wired and require("loopline.client").here()
  if not link or (link.server == "off" and not link.store.current) then
    return ""
  end
  local view = require("loopline.status_view").of(link)
  return require("loopline.status").line(view, options and options.coloured and "status" or nil)
end

---Start a turn in the folder at hand.
---@param task string
---@param place? loopline.Ask
function M.start(task, place)
  M.wire()
  local more = { words = task, place = place }
  require("loopline.commands").run("start", {}, more)
end

return M
