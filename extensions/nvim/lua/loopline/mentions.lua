---Completing `@path` in the composer with files of the folder.

local M = {}

local MAX = 200

---@param root string
---@param start string What is written after the `@`.
---@return string[]
function M.files(root, start)
  local found = {}
  local function hidden(name)
    return name:sub(1, 1) == "." or name == "node_modules" or name == "__pycache__"
  end
  local options = {
    depth = 8,
    skip = function(folder)
      return not hidden(vim.fs.basename(folder)) and #found < MAX
    end,
  }
  for path, kind in vim.fs.dir(root, options) do
    if kind == "file" and not hidden(vim.fs.basename(path)) and path:lower():find(start:lower(), 1, true) then
      found[#found + 1] = path
      if #found >= MAX then
        break
      end
    end
  end
  table.sort(found)
  return found
end

---For 'completefunc'.
---@param findstart integer
---@param base string
function M.complete(findstart, base)
  if findstart == 1 then
    local before = vim.api.nvim_get_current_line():sub(1, vim.api.nvim_win_get_cursor(0)[2])
    local at = before:find("@[^%s@]*$")
    return at and at - 1 or -3
  end
  return vim.tbl_map(function(path)
    return "@" .. path
  end, M.files(vim.b.loopline_root or vim.fn.getcwd(), (base:gsub("^@", ""))))
end

return M
