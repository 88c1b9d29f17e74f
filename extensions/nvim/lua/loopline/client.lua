---The connection to the server of each folder: its LSP client, what the server told, and how to ask it.
---
---A link belongs to a folder and outlives the client, so that a session on show survives a crash of its server.

local config = require("loopline.config")
local server = require("loopline.server")
local state = require("loopline.state")

local M = {}

M.NAME = "loopline"

---@class loopline.Link
---@field root string
---@field client? vim.lsp.Client
---@field store loopline.Store
---@field server "off"|"starting"|"ready"|"lost"|"broken"
---@field server_text? string
---@field crashes integer Since it last was ready for a while.
---@field wanted boolean Whether a client that ends is to be started again.
---@field ready_at? integer
---@field timer? uv.uv_timer_t
---@field waiting fun(link: loopline.Link)[]
---@field attached table<integer, boolean> Buffers, to be attached again after a crash.
---@field lingers boolean Whether the server knows how to go on without Neovim.
---@field transcripts table<string, loopline.Entry[]> What is loaded of each session's transcript.
---@field problem? string
---@field remembered? string The session that is noted for the next Neovim.
---@field refetching? boolean

---@type table<string, loopline.Link>
M.links = {}

---@type table<string, function[]>
local listeners = {}

---Hear of `changed(link)`, `events(link, events)`, `ready(link)`, `gap(link)` and `lost(link)`.
---@param what string
---@param listener function
function M.on(what, listener)
  listeners[what] = listeners[what] or {}
  table.insert(listeners[what], listener)
end

---@param what string
---@param ... any
function M.tell(what, ...)
  for _, listener in ipairs(listeners[what] or {}) do
    listener(...)
  end
end

---@param words string
---@param level? integer
function M.notify(words, level)
  vim.notify("Loopline: " .. require("loopline.text").clean(words), level or vim.log.levels.INFO)
end

---@param root string
---@return loopline.Link
function M.link_of(root)
  M.links[root] = M.links[root]
    or {
      root = root,
      store = state.new(),
      server = "off",
      crashes = 0,
      wanted = true,
      waiting = {},
      attached = {},
      lingers = true,
      transcripts = {},
    }
  return M.links[root]
end

---@param client_id integer
---@return loopline.Link?
function M.of_client(client_id)
  for _, link in pairs(M.links) do
    if link.client and link.client.id == client_id then
      return link
    end
  end
end

---@param link loopline.Link
---@param what "off"|"starting"|"ready"|"lost"|"broken"
---@param words? string
function M.set_server(link, what, words)
  link.server, link.server_text = what, words
  M.tell("changed", link)
end

---@param link loopline.Link
---@param words string
function M.broken(link, words)
  link.waiting = {}
  if link.problem ~= words then
    link.problem = words
    M.notify(words, vim.log.levels.ERROR)
  end
  M.set_server(link, "broken", "can't run")
end

---@return loopline.Link? link of the buffer that is on show, else of its folder
function M.here()
  local session = vim.b.loopline_root
  if session and M.links[session] then
    return M.links[session]
  end
  local attached = vim.lsp.get_clients({ name = M.NAME, bufnr = 0 })[1]
  if attached then
    return M.of_client(attached.id)
  end
  local root = server.root_of(0)
  return root and M.link_of(root) or nil
end

---Run `go` with the link of the folder at hand, once its server is ready.
---@param go fun(link: loopline.Link)
function M.with(go)
  local link = M.here()
  if not link then
    M.notify(
      ("no project folder here: `:cd` into one, or mark it with one of %s"):format(
        table.concat(config.get().root_markers, ", ")
      ),
      vim.log.levels.ERROR
    )
  elseif link.server == "ready" then
    go(link)
  else
    table.insert(link.waiting, go)
    if link.server == "broken" then
      link.problem = nil
    end
    if not vim.lsp.is_enabled(M.NAME) then
      vim.lsp.enable(M.NAME) -- so that the server sees the files that are open
    end
    require("loopline.life").start(link)
  end
end

---@param err lsp.ResponseError
---@return string
local function words_of(err)
  local hint = type(err.data) == "table" and err.data.hint
  return err.message .. (type(hint) == "string" and hint ~= "" and (" (%s)"):format(hint) or "")
end

---@param link loopline.Link
---@param method string
---@param params table
---@param done? fun(result: any)
---@param failed? fun(words: string)
function M.request(link, method, params, done, failed)
  local client = link.client
  local function fail(words)
    if failed then
      failed(words)
    else
      M.notify(words, vim.log.levels.ERROR)
    end
  end
  if not client or link.server ~= "ready" then
    fail("the server does not run")
    return
  end
  client:request(method, next(params) and params or vim.empty_dict(), function(err, result)
    if err then
      fail(words_of(err))
    elseif done then
      done(result)
    end
  end)
end

---Run one of the server's commands; it takes one object.
---@param link loopline.Link
---@param command string
---@param argument? table
---@param done? fun(result: any)
---@param failed? fun(words: string)
---@param token? string
function M.exec(link, command, argument, done, failed, token)
  local arguments = { argument and next(argument) and argument or vim.empty_dict() }
  local params = { command = command, arguments = arguments, workDoneToken = token }
  M.request(link, "workspace/executeCommand", params, done, failed)
end

return M
