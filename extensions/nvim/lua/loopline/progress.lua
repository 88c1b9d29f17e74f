---Progress of turns under tokens of our own, and cancelling by progress: Neovim shows progress and cancels none.

local client = require("loopline.client")

local M = {}

---@type table<string|integer, {client_id: integer, title: string}>
M.pending = {}

local count = 0

---@return string token for a command that begins a turn
function M.token()
  count = count + 1
  return ("loopline-nvim-%d-%d"):format(vim.uv.os_getpid(), count)
end

---@param client_id integer
---@param token string|integer
---@param value lsp.WorkDoneProgressBegin|lsp.WorkDoneProgressEnd
function M.heard(client_id, token, value)
  if value.kind == "begin" then
    M.pending[token] = { client_id = client_id, title = value.title or "" }
  elseif value.kind == "end" then
    M.pending[token] = nil
  end
end

---@param client_id integer
function M.forget(client_id)
  for token, one in pairs(M.pending) do
    if one.client_id == client_id then
      M.pending[token] = nil
    end
  end
end

---Cancel whatever reports progress, known to us as a turn or not.
---@param link loopline.Link
---@return integer cancelled
function M.cancel_all(link)
  local cancelled = 0
  for token, one in pairs(M.pending) do
    if link.client and one.client_id == link.client.id then
      link.client:notify("window/workDoneProgress/cancel", { token = token })
      cancelled = cancelled + 1
    end
  end
  return cancelled
end

function M.setup()
  vim.api.nvim_create_autocmd("LspProgress", {
    group = vim.api.nvim_create_augroup("loopline.progress", {}),
    callback = function(args)
      local link = client.of_client(args.data.client_id)
      if link then
        M.heard(args.data.client_id, args.data.params.token, args.data.params.value)
      end
    end,
  })
end

return M
