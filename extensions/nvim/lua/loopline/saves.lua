---Saving documents when the server asks for it, so that tests see what the editor shows; and looking at the disk after
---a turn changed it. Nothing here asks the user anything: what would prompt is not done, and said.

local M = {}

---@param bufnr integer
---@return boolean outside whether the file changed since the buffer read or wrote it
function M.changed_outside(bufnr)
  local reason
  local watch = vim.api.nvim_create_autocmd("FileChangedShell", {
    buffer = bufnr,
    callback = function()
      reason = vim.v.fcs_reason
      vim.v.fcs_choice = ""
    end,
  })
  pcall(vim.cmd.checktime, bufnr)
  vim.api.nvim_del_autocmd(watch)
  return reason == "conflict" or reason == "changed" or reason == "deleted"
end

---Write a buffer to its file, as it is: what formats on save stays out of it.
---@param bufnr integer
---@return boolean saved
---@return string? why not
function M.write(bufnr)
  if vim.bo[bufnr].buftype ~= "" or vim.api.nvim_buf_get_name(bufnr) == "" then
    return false, "it has no file"
  end
  local name = vim.api.nvim_buf_get_name(bufnr)
  if vim.uv.fs_stat(name) and M.changed_outside(bufnr) then
    return false, "its file was changed by something else"
  end
  local ignored, fixes = vim.o.eventignore, vim.bo[bufnr].fixendofline
  vim.o.eventignore = ignored == "" and "BufWritePre" or ignored .. ",BufWritePre"
  vim.bo[bufnr].fixendofline = false
  local ok, problem = pcall(vim.api.nvim_buf_call, bufnr, function()
    vim.cmd("silent lockmarks keepalt write")
  end)
  vim.o.eventignore, vim.bo[bufnr].fixendofline = ignored, fixes
  return ok and not vim.bo[bufnr].modified, not ok and tostring(problem):gsub("^.-(E%d+:)", "%1") or nil
end

---@param uris string[]
---@return boolean saved whether all of them are on disk now
function M.save_all(uris)
  local all = true
  for _, uri in ipairs(uris) do
    local bufnr = require("loopline.buffers").of(vim.uri_to_fname(uri))
    if bufnr == -1 or not vim.api.nvim_buf_is_loaded(bufnr) then
      all = false
    elseif vim.bo[bufnr].modified then
      local saved, why = M.write(bufnr)
      if not saved then
        all = false
        local name = vim.fn.fnamemodify(vim.uri_to_fname(uri), ":~:.")
        require("loopline.client").notify(("%s was not saved: %s"):format(name, why or "unknown"), vim.log.levels.WARN)
      end
    end
  end
  return all
end

---Show what is on disk now, in buffers without changes of their own.
---@param root string
---@param paths string[] relative to `root`, or whole
function M.refresh(root, paths)
  for _, path in ipairs(paths) do
    local whole = path:sub(1, 1) == "/" and path or vim.fs.joinpath(root, path)
    local bufnr = require("loopline.buffers").of(whole)
    if bufnr ~= -1 and vim.api.nvim_buf_is_loaded(bufnr) and not vim.bo[bufnr].modified and vim.o.autoread then
      pcall(vim.cmd.checktime, bufnr)
    end
  end
end

return M
