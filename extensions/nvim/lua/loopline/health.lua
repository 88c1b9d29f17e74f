---`:checkhealth loopline`.

local client = require("loopline.client")
local config = require("loopline.config")
local server = require("loopline.server")
local text = require("loopline.text")

local M = {}

local WAIT_MS = 5000

local function editor()
  vim.health.start("Neovim")
  if vim.fn.has("nvim-0.11") == 1 then
    vim.health.ok(("version %s"):format(tostring(vim.version())))
  else
    vim.health.error("Loopline needs Neovim 0.11 or newer")
  end
  local _, problems = config.resolve(config.given())
  for _, problem in ipairs(problems) do
    vim.health.warn("option " .. problem)
  end
  if #problems == 0 then
    vim.health.ok("options are in order")
  end
  if vim.lsp.is_enabled(client.NAME) then
    vim.health.ok('enabled for files (`vim.lsp.enable("loopline")`)')
  else
    vim.health.info('not enabled for files: the first `:Loopline` starts it; `vim.lsp.enable("loopline")` does at once')
  end
  local folder = vim.fn.stdpath("state") --[[@as string]]
  if vim.uv.fs_access(folder, "W") or not vim.uv.fs_stat(folder) then
    vim.health.ok("which session was on show can be remembered")
  else
    vim.health.warn(("%s can't be written: which session was on show is forgotten"):format(folder))
  end
end

---@return boolean
local function program()
  vim.health.start("Server")
  local cmd, why = server.command()
  if not cmd then
    vim.health.error(why --[[@as string]], { server.INSTALL })
    return false
  end
  vim.health.ok("found: " .. table.concat(cmd, " "))
  local ok, done = pcall(function()
    return vim.system({ cmd[1], "--version" }, { text = true, timeout = WAIT_MS }):wait()
  end)
  local said = ok and text.one_line(done.stdout or "", 80) or ""
  if ok and done.code == 0 and said ~= "" then
    vim.health.ok(said)
  else
    vim.health.info(("`%s --version` said nothing useful"):format(cmd[1]))
  end
  return true
end

---@param link loopline.Link
---@param method string
---@return any
local function ask(link, method)
  local answer = link.client:request_sync(method, vim.empty_dict(), WAIT_MS)
  return answer and answer.result
end

---@param link loopline.Link
local function connection(link)
  vim.health.start("Folder " .. link.root)
  if link.server ~= "ready" or not link.client then
    local why = link.problem or link.server_text or link.server
    if link.server == "off" then
      vim.health.info("no server runs here; `:Loopline` starts one")
    else
      vim.health.error("the server does not run: " .. why, { "see `:Loopline log`", "then `:Loopline restart`" })
    end
    return
  end
  local info = link.client.server_info or {}
  vim.health.ok(
    ("connected to %s %s, positions in %s"):format(
      info.name or "a server",
      info.version or "",
      link.client.offset_encoding
    )
  )
  local status = ask(link, "loopline/status")
  if not status then
    vim.health.error("the server does not answer")
    return
  end
  for _, category in ipairs(status.categories) do
    local words = ("%s: %s"):format(category.category, text.one_line(category.text, 200))
    local say = { info = vim.health.ok, warning = vim.health.warn, error = vim.health.error }
    say[category.severity](words)
  end
  local keys = ask(link, "loopline/auth.status")
  for _, one in ipairs(keys and keys.providers or {}) do
    local words = one.present and ("key of %s: in the %s"):format(one.provider, one.where)
      or ("no key of %s; `:Loopline key %s` sets one"):format(one.provider, one.provider)
    vim.health.info(words)
  end
end

function M.check()
  editor()
  if program() then
    local found = false
    for _, root in ipairs(vim.fn.sort(vim.tbl_keys(client.links))) do
      found = true
      connection(client.links[root])
    end
    if not found then
      vim.health.start("Folders")
      vim.health.info("no folder is in use yet; `:Loopline` in a project starts it")
    end
  end
end

return M
