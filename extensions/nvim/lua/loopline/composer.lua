---The composer: a buffer under the session in which one writes what is to be done. It survives being closed.

local client = require("loopline.client")
local config = require("loopline.config")
local keys = require("loopline.keys")
local text = require("loopline.text")
local turns = require("loopline.turns")
local window = require("loopline.window")

local M = {}

local api = vim.api

---@type table<string, integer> buffer by folder
local buffers = {}
---@type table<string, {place: loopline.Ask, buf: integer}> what the next message is about, by folder
local places = {}

---@param link loopline.Link
---@return integer
local function buffer_of(link)
  local buf = buffers[link.root]
  if buf and api.nvim_buf_is_valid(buf) then
    return buf
  end
  buf = api.nvim_create_buf(false, false)
  buffers[link.root] = buf
  api.nvim_buf_set_name(buf, "loopline://composer" .. link.root)
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = "acwrite", "hide", false
  vim.bo[buf].modeline, vim.bo[buf].filetype = false, "loopline-composer"
  vim.bo[buf].completefunc = "v:lua.require'loopline.mentions'.complete"
  vim.b[buf].loopline_root = link.root
  keys.composer(buf)
  api.nvim_create_autocmd("BufWriteCmd", { buffer = buf, callback = M.send })
  return buf
end

---@param link loopline.Link
---@return string what the window says above it
local function hint(link)
  local place = places[link.root]
  local about = ""
  if place then
    local name = vim.fn.fnamemodify(vim.uri_to_fname(place.place.textDocument.uri), ":t")
    local range = place.place.range
    local last = range and (range["end"].character > 0 and range["end"].line + 1 or range["end"].line)
    about = range and ("%s:%d-%d  "):format(name, range.start.line + 1, last) or name .. "  "
  end
  local what = turns.running(link) and "adds to the turn that runs" or "starts a turn"
  return text.for_statusline(("%s<CR> or :w %s"):format(about, what))
end

---@param link loopline.Link
---@param place? loopline.Ask What it is about; of a buffer that is closed before it is sent it is dropped.
function M.open(link, place)
  if place and place.textDocument then
    local about = require("loopline.buffers").of(vim.uri_to_fname(place.textDocument.uri))
    places[link.root] = about ~= -1 and { place = place, buf = about } or nil
  end
  local buf = buffer_of(link)
  local win = vim.fn.win_findbuf(buf)[1]
  if not win then
    if not window.window() then
      window.open(link, { focus = false })
    end
    local beside = window.window() or api.nvim_get_current_win()
    win = api.nvim_open_win(buf, true, { win = beside, split = "below", height = config.get().composer_height })
    vim.wo[win][0].winfixheight, vim.wo[win][0].number = true, false
    vim.wo[win][0].wrap, vim.wo[win][0].linebreak = true, true
  end
  vim.wo[win][0].winbar = hint(link)
  api.nvim_set_current_win(win)
  vim.cmd.startinsert({ bang = true })
end

---@return loopline.Link?
local function link_here()
  local root = vim.b.loopline_root
  return root and client.links[root]
end

function M.send()
  local link, buf = link_here(), api.nvim_get_current_buf()
  if not link then
    return
  end
  local words = vim.trim(table.concat(api.nvim_buf_get_lines(buf, 0, -1, false), "\n"))
  if words == "" then
    return
  end
  local about = places[link.root]
  places[link.root] = nil
  if about and not api.nvim_buf_is_loaded(about.buf) then
    about = nil
  end
  turns.say(link, words, about and about.place or nil)
  api.nvim_buf_set_lines(buf, 0, -1, false, {})
  vim.bo[buf].modified = false
  vim.cmd.stopinsert()
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    vim.wo[win][0].winbar = hint(link)
  end
end

function M.close()
  if #api.nvim_tabpage_list_wins(0) > 1 then
    api.nvim_win_close(0, false)
  end
end

---Lines of a buffer as the place that a message is about.
---@param buf integer
---@param first integer From 1.
---@param last integer
---@return loopline.Ask?
function M.place(buf, first, last)
  local name = api.nvim_buf_get_name(buf)
  if name == "" or vim.bo[buf].buftype ~= "" then
    return nil
  end
  return {
    textDocument = { uri = vim.uri_from_bufnr(buf) },
    range = { start = { line = first - 1, character = 0 }, ["end"] = { line = last, character = 0 } },
  }
end

return M
