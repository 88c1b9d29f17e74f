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

function M.define()
  local dark = vim.o.background == "dark"
  for _, group in ipairs(M.GROUPS) do
    local colours = vim.deepcopy(group[2])
    if colours.fg and not dark then
      colours.fg = colours.fg:gsub("Light", "Dark")
    end
    colours.default = true
    vim.api.nvim_set_hl(0, group[1], colours)
  end
end

function M.setup()
  M.define()
  vim.api.nvim_create_autocmd("ColorScheme", {
    group = vim.api.nvim_create_augroup("loopline.highlights", {}),
    callback = M.define,
  })
end

return M
