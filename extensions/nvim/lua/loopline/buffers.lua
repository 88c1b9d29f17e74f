---Buffers by the file that they hold.

local M = {}

---The buffer of a file, -1 without one. `bufnr()` takes a name for a pattern, and another file's buffer for its own.
---@param path string
---@return integer
function M.of(path)
  if path:find("%z") then
    return -1
  end
  local real, other = vim.uv.fs_realpath(path), -1
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if name == path then
      return buf
    elseif real and name == real then
      other = buf
    end
  end
  return other
end

return M
