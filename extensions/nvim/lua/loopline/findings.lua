---Telling the server what the editor's other tools find, a moment after it changed.

local client = require("loopline.client")
local config = require("loopline.config")

local M = {}

local WAIT_MS = 200
local MAX = 500

---@type table<integer, uv.uv_timer_t>
local timers = {}

---Diagnostics as the protocol has them, in units of the client's encoding.
---@param found vim.Diagnostic[]
---@param line_of fun(lnum: integer): string
---@param encoding string
---@return lsp.Diagnostic[]
function M.converted(found, line_of, encoding)
  local function position(lnum, col)
    local line = line_of(lnum)
    local bytes = math.min(math.max(col, 0), #line)
    local character = encoding == "utf-8" and bytes or vim.str_utfindex(line, encoding, bytes, false)
    return { line = lnum, character = character }
  end
  local shown = {}
  for at, one in ipairs(found) do
    if at > MAX then
      break
    end
    shown[at] = {
      range = {
        start = position(one.lnum, one.col),
        ["end"] = position(one.end_lnum or one.lnum, one.end_col or one.col),
      },
      severity = one.severity,
      message = one.message,
      source = one.source,
      code = one.code,
    }
  end
  return shown
end

---@param bufnr integer
local function send(bufnr)
  if not vim.api.nvim_buf_is_loaded(bufnr) then
    return
  end
  for _, lsp_client in ipairs(vim.lsp.get_clients({ name = client.NAME, bufnr = bufnr })) do
    local own = {
      [vim.lsp.diagnostic.get_namespace(lsp_client.id)] = true,
      [vim.lsp.diagnostic.get_namespace(lsp_client.id, true)] = true,
    }
    local found = vim.tbl_filter(function(one)
      return not own[one.namespace]
    end, vim.diagnostic.get(bufnr))
    local function line_of(lnum)
      return vim.api.nvim_buf_get_lines(bufnr, lnum, lnum + 1, false)[1] or ""
    end
    lsp_client:notify("loopline/diagnostics", {
      uri = vim.uri_from_bufnr(bufnr),
      diagnostics = M.converted(found, line_of, lsp_client.offset_encoding),
    })
  end
end

---@param bufnr integer
function M.soon(bufnr)
  if not config.get().diagnostics or #vim.lsp.get_clients({ name = client.NAME, bufnr = bufnr }) == 0 then
    return
  end
  if timers[bufnr] and not timers[bufnr]:is_closing() then
    timers[bufnr]:close()
  end
  timers[bufnr] = vim.defer_fn(function()
    timers[bufnr] = nil
    send(bufnr)
  end, WAIT_MS)
end

return M
