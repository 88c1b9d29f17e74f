---Options: their definition, defaults, checks and words. The one place; the help page is made from it.
---
---They come from `vim.g.loopline` or `require("loopline").setup()`, both optional; the latter wins.

local M = {}

---@class loopline.Option
---@field name string
---@field default any
---@field kind string What `check` takes, in words of LuaCATS.
---@field check? fun(value: any): boolean
---@field words string

---@param ... string
local function one_of(...)
  local allowed = { ... }
  return function(value)
    return vim.list_contains(allowed, value)
  end
end

---@param value any
local function words_list(value)
  return vim.islist(value)
    and #value > 0
    and vim.iter(value):all(function(word)
      return type(word) == "string"
    end)
end

---@type loopline.Option[]
M.OPTIONS = {
  {
    name = "cmd",
    default = { "loopline", "lsp", "--stdio" },
    kind = "string[]",
    check = words_list,
    words = "How the server is started. A name without a slash is looked for on `PATH`, then in the active "
      .. "`VIRTUAL_ENV`.",
  },
  {
    name = "root_markers",
    default = { ".loopline", ".git", "pyproject.toml", "package.json", "go.mod", "Cargo.toml" },
    kind = "string[]",
    check = words_list,
    words = "What marks the folder to work in. A file below none of them belongs to the working directory, if it "
      .. "is in it.",
  },
  {
    name = "server",
    default = {},
    kind = "table<string, any>",
    words = 'Settings of the server, e.g. `{ model = "repair", approve = "ask" }`, sent as the user\'s own word: see '
      .. "|loopline-server-settings|. A key is never a setting: |:Loopline-key|.",
  },
  {
    name = "window",
    default = "right",
    kind = '"right"|"left"|"bottom"|"tab"',
    check = one_of("right", "left", "bottom", "tab"),
    words = "Where a session is shown.",
  },
  { name = "width", default = 72, kind = "integer", words = "Columns of a session at the side." },
  { name = "height", default = 16, kind = "integer", words = "Lines of a session at the bottom." },
  { name = "composer_height", default = 5, kind = "integer", words = "Lines of the composer." },
  {
    name = "open_on_start",
    default = true,
    kind = "boolean",
    words = "Whether a turn that starts, e.g. by a code action, shows its session. The cursor stays where it is.",
  },
  {
    name = "approvals",
    default = "prompt",
    kind = '"prompt"|"notify"',
    check = one_of("prompt", "notify"),
    words = "`prompt` asks through |vim.ui.select()| as soon as you are in Normal mode, never while you type. `notify` "
      .. "says that an approval waits; answer it with |:Loopline-approve|.",
  },
  {
    name = "attach",
    default = "own",
    kind = '"own"|"never"',
    check = one_of("own", "never"),
    words = "Whether a session that this editor showed last in the folder is taken up again when it still runs.",
  },
  {
    name = "diagnostics",
    default = true,
    kind = "boolean",
    words = "Whether diagnostics of your other tools are told to the agent when it asks for them.",
  },
  {
    name = "notify",
    default = true,
    kind = "boolean",
    words = "Whether the end of a turn that is not on screen is told.",
  },
  {
    name = "linger_s",
    default = 60,
    kind = "integer",
    words = "Seconds that a turn goes on after Neovim ended, so that it can be found again; 0 ends it with Neovim. "
      .. "Needs a server that can do that.",
  },
  {
    name = "restart_s",
    default = { 1, 2, 5, 15, 30 },
    kind = "number[]",
    check = function(value)
      return vim.islist(value)
    end,
    words = "Seconds to wait before each restart of a server that crashed; after the last one it stays down until "
      .. "|:Loopline-restart|.",
  },
}

---@class loopline.Config
---@field cmd string[]
---@field root_markers string[]
---@field server table<string, any>
---@field window "right"|"left"|"bottom"|"tab"
---@field width integer
---@field height integer
---@field composer_height integer
---@field open_on_start boolean
---@field approvals "prompt"|"notify"
---@field attach "own"|"never"
---@field diagnostics boolean
---@field notify boolean
---@field linger_s integer
---@field restart_s number[]

---@type table<string, any>
local given = {}

---@param option loopline.Option
---@param value any
---@return string? problem
local function problem_with(option, value)
  local ok = type(value) == type(option.default) and (not option.check or option.check(value))
  if not ok then
    return ("`%s` should be %s, got %s"):format(
      option.name,
      option.kind,
      vim.inspect(value, { newline = " ", indent = "" })
    )
  end
end

---@param options table<string, any>
---@return loopline.Config config with the defaults where nothing valid is given
---@return string[] problems
function M.resolve(options)
  local config, problems, known = {}, {}, {}
  for _, option in ipairs(M.OPTIONS) do
    local value = options[option.name]
    known[option.name] = true
    local problem = value ~= nil and problem_with(option, value) or nil
    problems[#problems + 1] = problem
    if value == nil or problem then
      value = vim.deepcopy(option.default)
    end
    config[option.name] = value
  end
  for name in vim.spairs(options) do
    if not known[name] then
      problems[#problems + 1] = ("`%s` is not an option"):format(name)
    end
  end
  return config, problems
end

---@param options? table<string, any>
---@return string[] problems
function M.set(options)
  given = options or {}
  local _, problems = M.resolve(M.given())
  return problems
end

---What the user set, by whichever way.
---@return table<string, any>
function M.given()
  local global = vim.g.loopline
  return vim.tbl_extend("force", type(global) == "table" and global or {}, given)
end

---@return loopline.Config
function M.get()
  return (M.resolve(M.given()))
end

return M
