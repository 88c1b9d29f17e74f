---Colours: one accent per quantity, as in Loopline's other front ends. A colour scheme may set any of these groups.

local M = {}

---@type {[1]: string, [2]: vim.api.keyset.highlight, [3]: string}[] name, default, what it is for
M.GROUPS = {
  { "LooplineInference", { fg = "NvimLightBlue", ctermfg = "Blue" }, "inference, and live figures" },
  { "LooplineOverhead", { fg = "NvimLightYellow", ctermfg = "Yellow" }, "overhead of the connection" },
  { "LooplineTools", { fg = "NvimLightGreen", ctermfg = "Green" }, "tools" },
  { "LooplineApproval", { fg = "NvimLightMagenta", ctermfg = "Magenta", bold = true }, "approvals" },
  { "LooplineQuiet", { link = "Comment" }, "what is beside the matter" },
  { "LooplineTurn", { link = "Title" }, "the first line of a turn" },
  { "LooplineUser", { link = "Identifier" }, "what you said" },
  { "LooplineTool", { link = "Function" }, "names of tools, headings" },
  { "LooplineOk", { link = "DiagnosticOk" }, "done, accepted" },
  { "LooplineWarning", { link = "DiagnosticWarn" }, "warnings" },
  { "LooplineError", { link = "DiagnosticError" }, "failures, rejected" },
  { "LooplineAdded", { link = "Added" }, "added lines" },
  { "LooplineRemoved", { link = "Removed" }, "removed lines" },
}

---@return boolean whether status lines are light
local function light_status()
  local hl = vim.api.nvim_get_hl(0, { name = "StatusLine", link = false })
  local colour = hl.reverse and hl.fg or hl.bg
  if not colour then
    return hl.reverse and vim.o.background == "dark" or vim.o.background == "light"
  end
  local red, green, blue = math.floor(colour / 65536), math.floor(colour / 256) % 256, colour % 256
  return 0.299 * red + 0.587 * green + 0.114 * blue > 127
end

---@param name string
---@param colours vim.api.keyset.highlight
---@param light boolean What it stands on.
local function set(name, colours, light)
  local own = vim.deepcopy(colours)
  if own.fg and light then
    own.fg = own.fg:gsub("Light", "Dark")
  end
  own.default = true
  vim.api.nvim_set_hl(0, name, own)
end

function M.define()
  local light = light_status()
  for _, group in ipairs(M.GROUPS) do
    set(group[1], group[2], vim.o.background == "light")
    if group[2].fg then
      set(group[1]:gsub("^Loopline", "LooplineStatus"), group[2], light)
    end
  end
  set("LooplineStatusError", { fg = "NvimLightRed", ctermfg = "Red" }, light)
end

function M.setup()
  M.define()
  vim.api.nvim_create_autocmd("ColorScheme", {
    group = vim.api.nvim_create_augroup("loopline.highlights", {}),
    callback = M.define,
  })
end

return M
