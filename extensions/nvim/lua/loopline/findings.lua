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

---What others say of a buffer, in the units of a client.
---@param lsp_client vim.lsp.Client
---@param bufnr integer
---@param keep? fun(one: vim.Diagnostic): boolean
---@return lsp.Diagnostic[]
local function of_others(lsp_client, bufnr, keep)
  local own = {
    [vim.lsp.diagnostic.get_namespace(lsp_client.id)] = true,
    [vim.lsp.diagnostic.get_namespace(lsp_client.id, true)] = true,
  }
  local found = vim.tbl_filter(function(one)
    return not own[one.namespace] and (not keep or keep(one))
  end, vim.diagnostic.get(bufnr))
  local function line_of(lnum)
    return vim.api.nvim_buf_get_lines(bufnr, lnum, lnum + 1, false)[1] or ""
  end
  return M.converted(found, line_of, lsp_client.offset_encoding)
end

---Neovim tells a server of its own diagnostics only when it asks for code actions. Ours acts on those of every tool, so
---what others say of the range is added.
---@param lsp_client vim.lsp.Client
function M.tell_code_actions(lsp_client)
  local request = lsp_client.request
  lsp_client.request = function(self, method, params, handler, bufnr)
    if method == "textDocument/codeAction" and params and params.range then
      local buf = require("loopline.buffers").of(vim.uri_to_fname(params.textDocument.uri))
      local first, last = params.range.start.line, params.range["end"].line
      local others = buf ~= -1
          and of_others(lsp_client, buf, function(one)
            return one.lnum <= last and (one.end_lnum or one.lnum) >= first
          end)
        or {}
      params = vim.deepcopy(params)
      vim.list_extend(params.context.diagnostics, others)
    end
    return request(self, method, params, handler, bufnr)
  end
end

---@param bufnr integer
local function send(bufnr)
  if not vim.api.nvim_buf_is_loaded(bufnr) then
    return
  end
  for _, lsp_client in ipairs(vim.lsp.get_clients({ name = client.NAME, bufnr = bufnr })) do
    lsp_client:notify("loopline/diagnostics", {
      uri = vim.uri_from_bufnr(bufnr),
      diagnostics = of_others(lsp_client, bufnr),
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
