---Finding the server's command, starting it, and saying plainly why it can't be.

local config = require("loopline.config")
local protocol = require("loopline.protocol")

local M = {}

M.INSTALL = "install it (`pip install` the wheel or the checkout), put it on PATH, or set `cmd`"

---A relative entry of `PATH` names whatever folder Neovim is in, so it is left out.
---@param name string
---@return string program its whole path, "" where there is none
local function on_path(name)
  for _, folder in ipairs(vim.split(vim.env.PATH or "", ":", { plain = true })) do
    local program = vim.fs.joinpath(folder, name)
    if folder:sub(1, 1) == "/" and vim.fn.executable(program) == 1 then
      return program
    end
  end
  return ""
end

---@return string[]? cmd with the program's whole path
---@return string? why there is none
function M.command()
  local cmd = vim.deepcopy(config.get().cmd)
  local program = cmd[1]:find("/") and vim.fn.exepath(vim.fs.normalize(cmd[1])) or on_path(cmd[1])
  local environment = vim.env.VIRTUAL_ENV
  if program == "" and not cmd[1]:find("/") and environment and environment ~= "" then
    program = vim.fn.exepath(vim.fs.joinpath(environment, "bin", cmd[1]))
  end
  if program == "" then
    return nil, ("the server `%s` was not found: %s"):format(cmd[1], M.INSTALL)
  end
  cmd[1] = program
  return cmd
end

---@param dispatchers vim.lsp.rpc.Dispatchers
---@param lingers boolean Whether it may be told to go on when Neovim ends in the middle of a turn.
---@return vim.lsp.rpc.PublicClient
function M.start(dispatchers, lingers)
  local cmd, why = M.command()
  if not cmd then
    error(why, 0)
  end
  if lingers and config.get().linger_s > 0 then
    vim.list_extend(cmd, { "--linger-s", tostring(config.get().linger_s) })
  end
  return vim.lsp.rpc.start(cmd, dispatchers, { cwd = "/", detached = true })
end

---@param client vim.lsp.Client
---@return string? problem what makes a server that answered unusable
function M.problem(client)
  local ours = vim.tbl_get(client.server_capabilities or {}, "experimental", "loopline")
  local version = type(ours) == "table" and ours.version or nil
  local about = client.server_info and client.server_info.version or "of an unknown version"
  if type(version) ~= "number" or version < protocol.VERSION then
    return ("the server (%s) is too old for this plugin: update Loopline"):format(about)
  elseif version > protocol.VERSION then
    return ("the server (%s) is too new for this plugin: update the plugin"):format(about)
  end
end

local FRESH_MS = 5000
---@type table<string, {root?: string, at: integer}>
local roots = {}

---@param name string
---@param cwd string
---@return string?
local function find_root(name, cwd)
  local found = name ~= "" and vim.fs.root(name, config.get().root_markers) or nil
  if found then
    return found
  elseif cwd == "/" or cwd == vim.fs.normalize("~") then
    return nil
  end
  return (name == "" or vim.fs.relpath(cwd, vim.fs.normalize(name))) and cwd or nil
end

---The folder that a buffer belongs to. Status lines ask for it all the time, so an answer holds for a moment.
---@param bufnr integer
---@return string? root
function M.root_of(bufnr)
  local name, cwd = vim.api.nvim_buf_get_name(bufnr), vim.fs.normalize(vim.fn.getcwd())
  if name:match("^%a[%w+.-]+://") then
    name = ""
  end
  local key, now = name .. "\0" .. cwd, vim.uv.now()
  local known = roots[key]
  if not known or now - known.at > FRESH_MS then
    known = { root = find_root(name, cwd), at = now }
    roots[key] = known
  end
  return known.root
end

return M
