---The life of a folder's server: start, crash, restart, end.

local client = require("loopline.client")
local config = require("loopline.config")
local handlers = require("loopline.handlers")
local server = require("loopline.server")
local state = require("loopline.state")

local M = {}

local STEADY_MS = 10000
local STOP_MS = 2000
local USAGE = 2 -- exit code for an option that the server does not know

---@param link loopline.Link
local function attach_again(link)
  for bufnr in pairs(link.attached) do
    if vim.api.nvim_buf_is_loaded(bufnr) then
      vim.lsp.buf_attach_client(bufnr, link.client.id)
    else
      link.attached[bufnr] = nil
    end
  end
end

---Whether something would be lost if the server ended now.
---@param link loopline.Link
---@return boolean
local function works(link)
  return vim.iter(pairs(link.store.sessions)):any(function(_, session)
    return session.hosting ~= "attached" and state.running(session) ~= nil
  end)
end

---Neovim asks every server to shut down when it ends, which ends turns. One that works is left alone instead: it sees
---the end of its input, and goes on for `linger_s`.
---@param link loopline.Link
---@param lsp_client vim.lsp.Client
local function outlive(link, lsp_client)
  local stop = lsp_client.stop
  lsp_client.stop = function(self, force)
    local leaving = vim.v.exiting ~= vim.NIL
    if not (leaving and link.lingers and config.get().linger_s > 0 and works(link)) then
      stop(self, force)
    end
  end
end

---@param lsp_client vim.lsp.Client
local function on_init(lsp_client)
  local link = client.link_of(lsp_client.root_dir or "")
  link.client = lsp_client
  local problem = server.problem(lsp_client)
  if problem then
    link.wanted = false
    client.broken(link, problem)
    lsp_client:stop()
    return
  end
  outlive(link, lsp_client)
  require("loopline.findings").tell_code_actions(lsp_client)
  link.ready_at, link.problem, link.wanted = vim.uv.now(), nil, true
  link.store.seq = 0
  client.set_server(link, "ready")
  vim.schedule(function()
    attach_again(link)
    client.tell("ready", link)
    local waiting = link.waiting
    link.waiting = {}
    for _, go in ipairs(waiting) do
      go(link)
    end
  end)
end

---@param link loopline.Link
---@param how string
local function restart_later(link, how)
  local waits = config.get().restart_s
  if link.ready_at and vim.uv.now() - link.ready_at > STEADY_MS then
    link.crashes = 0
  end
  link.ready_at = nil
  link.crashes = link.crashes + 1
  local wait_s = waits[link.crashes]
  if not wait_s then
    local words = "the server ended %d times (%s); `:Loopline log` says more, `:Loopline restart` tries again"
    client.broken(link, words:format(link.crashes, how))
    return
  end
  if link.crashes == 1 then
    client.notify(("the server ended (%s); it is started again"):format(how), vim.log.levels.WARN)
  end
  client.set_server(link, "lost", ("server lost, again in %g s"):format(wait_s))
  link.timer = vim.defer_fn(function()
    link.timer = nil
    if link.wanted and link.server == "lost" then
      M.start(link)
    end
  end, math.floor(wait_s * 1000))
end

---@param link loopline.Link
---@param code integer
---@param signal integer
local function ended(link, code, signal)
  link.client = nil
  state.lost(link.store)
  client.tell("lost", link)
  if vim.v.exiting ~= vim.NIL then
    return
  elseif not link.wanted then
    client.set_server(link, link.server == "broken" and "broken" or "off", link.server_text)
  elseif code == USAGE and link.lingers and not link.ready_at then
    link.lingers = false
    M.start(link)
  else
    restart_later(link, signal ~= 0 and ("signal %d"):format(signal) or ("exit code %d"):format(code))
  end
end

---@param bufnr integer
---@param on_dir fun(root: string)
local function root_dir(bufnr, on_dir)
  local scheme = vim.api.nvim_buf_get_name(bufnr):match("^%a[%w+.-]+://")
  local root = not scheme and server.root_of(bufnr)
  if not root then
    return
  end
  local link = client.link_of(root)
  local cmd, why = server.command()
  if not cmd then
    client.broken(link, why --[[@as string]])
  elseif link.client or (link.server == "off" and link.wanted) then
    on_dir(root)
  else
    link.attached[bufnr] = true
  end
end

---@param params lsp.InitializeParams
---@param client_config vim.lsp.ClientConfig
local function before_init(params, client_config)
  local link = client.link_of(client_config.root_dir or "")
  for _, lsp_client in ipairs(vim.lsp.get_clients({ name = client.NAME, _uninitialized = true })) do
    if lsp_client.root_dir == client_config.root_dir then
      link.client = lsp_client
    end
  end
  params.initializationOptions = vim.tbl_extend("error", vim.empty_dict(), config.get().server)
end

---The configuration for `vim.lsp.config` and `vim.lsp.start`.
---@return vim.lsp.Config
function M.config()
  return {
    name = client.NAME,
    cmd = function(dispatchers, client_config)
      local link = client.link_of(client_config.root_dir or "")
      local rpc = server.start(dispatchers, link.lingers)
      client.set_server(link, "starting")
      return rpc
    end,
    root_dir = root_dir,
    capabilities = {
      experimental = {
        loopline = { saveDocuments = true, approvals = true, questions = true, answers = true, userSettings = true },
      },
    },
    before_init = before_init,
    on_init = on_init,
    on_attach = function(lsp_client, bufnr)
      client.link_of(lsp_client.root_dir or "").attached[bufnr] = true
    end,
    on_exit = function(code, signal, client_id)
      vim.schedule(function()
        local link = client.of_client(client_id)
        if link then
          ended(link, code, signal)
        end
      end)
    end,
    handlers = handlers.handlers,
    commands = handlers.commands,
  }
end

---Start the server of a folder, unless it runs.
---@param link loopline.Link
function M.start(link)
  if link.client and not link.client:is_stopped() then
    return
  end
  local cmd, why = server.command()
  if not cmd then
    client.broken(link, why --[[@as string]])
    return
  end
  link.wanted = true
  local client_config = vim.tbl_extend("force", M.config(), vim.lsp.config[client.NAME] or {})
  client_config.root_dir = link.root
  local id = vim.lsp.start(client_config --[[@as vim.lsp.ClientConfig]], { attach = false, silent = true })
  if not id then
    client.broken(link, "the server could not be started; `:Loopline log` says more")
  else
    link.client = vim.lsp.get_client_by_id(id)
  end
end

---@param link loopline.Link
---@param go fun()
local function once_ended(link, go)
  local until_ms = vim.uv.now() + STOP_MS
  local function look()
    if not link.client then
      go()
      return
    elseif vim.uv.now() > until_ms then
      link.client:stop(true)
      until_ms = math.huge
    end
    vim.defer_fn(look, 20)
  end
  look()
end

---@param link loopline.Link
---@param again boolean Start it anew once it ended.
function M.stop(link, again)
  link.crashes, link.problem, link.wanted = 0, nil, false
  if link.timer and not link.timer:is_closing() then
    link.timer:close()
  end
  link.timer = nil
  if link.client then
    link.client:stop()
  else
    client.set_server(link, "off")
  end
  if again then
    once_ended(link, function()
      M.start(link)
    end)
  end
end

return M
