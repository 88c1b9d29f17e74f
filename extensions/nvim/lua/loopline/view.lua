---The text of sessions: a buffer per session that follows its items. `window.lua` puts it on screen.
---
---A buffer's text is written only where it differs. Positions are kept by item, so an item at the end costs the same
---however long the session is.

local config = require("loopline.config")
local render = require("loopline.render")

local M = {}

local api = vim.api
local HIGHLIGHTS = api.nvim_create_namespace("loopline.highlights")
local FIGURES = api.nvim_create_namespace("loopline.figures")

---@class loopline.View
---@field link loopline.Link
---@field session string
---@field buf integer
---@field shown loopline.Rendered[] By item.
---@field starts integer[] First line of each item, from 0.
---@field figures table<integer, integer> Extmark of each item with something at the right edge.

---@type table<integer, loopline.View> by buffer
M.views = {}

---@return integer columns of a session
local function width()
  local options = config.get()
  local beside = options.window == "left" or options.window == "right"
  return beside and options.width or math.min(120, vim.o.columns)
end

---@param view loopline.View
---@param first integer
---@param last integer
---@param lines string[]
local function write(view, first, last, lines)
  vim.bo[view.buf].modifiable = true
  api.nvim_buf_set_lines(view.buf, first, last, false, lines)
  vim.bo[view.buf].modifiable = false
end

---@param view loopline.View
---@param at integer
---@param rendered loopline.Rendered
local function decorate(view, at, rendered)
  local start = view.starts[at]
  for _, mark in ipairs(rendered.marks) do
    local line = rendered.lines[mark.line + 1]
    api.nvim_buf_set_extmark(view.buf, HIGHLIGHTS, start + mark.line, math.min(mark.from, #line), {
      end_col = mark.to < 0 and #line or math.min(mark.to, #line),
      hl_group = mark.hl,
    })
  end
end

---What stands at the right edge is an extmark: it changes many times a second, and the text does not.
---@param view loopline.View
---@param at integer
---@param right? {[1]: string, [2]: string}[]
local function set_figures(view, at, right)
  local id = view.figures[at]
  if right and #view.shown[at].lines > 0 then
    view.figures[at] = api.nvim_buf_set_extmark(view.buf, FIGURES, view.starts[at], 0, {
      id = id,
      virt_text = right,
      virt_text_pos = "right_align",
      hl_mode = "combine",
    })
  elseif id then
    api.nvim_buf_del_extmark(view.buf, FIGURES, id)
    view.figures[at] = nil
  end
end

---@param old string[]
---@param new string[]
---@return integer same how many lines at the beginning are the same
local function common(old, new)
  local same = 0
  while same < #old and same < #new and old[same + 1] == new[same + 1] do
    same = same + 1
  end
  return same
end

---@param view loopline.View
---@param item loopline.Item
local function show(view, item)
  local rendered, at = render.item(item, width()), item.id
  local old = view.shown[at]
  if not old then
    local before = view.shown[at - 1]
    view.starts[at] = before and view.starts[at - 1] + #before.lines or 0
    old = { lines = {}, marks = {}, fold = false }
  end
  view.shown[at] = rendered
  local start, moved = view.starts[at], #rendered.lines - #old.lines
  for other = at + 1, moved ~= 0 and #view.starts or at do
    view.starts[other] = view.starts[other] + moved
  end
  local same = common(old.lines, rendered.lines)
  if same < #old.lines or same < #rendered.lines then
    -- folds are computed while this writes, so places are right before it
    write(view, start + same, start + #old.lines, vim.list_slice(rendered.lines, same + 1))
  end
  api.nvim_buf_clear_namespace(view.buf, HIGHLIGHTS, start, start + math.max(#rendered.lines, 1))
  decorate(view, at, rendered)
  set_figures(view, at, rendered.right)
end

---@param view loopline.View
---@param session loopline.SessionState
local function show_all(view, session)
  local lines, columns = {}, width()
  view.shown, view.starts, view.figures = {}, {}, {}
  for at, item in ipairs(session.items) do
    view.shown[at] = render.item(item, columns)
    view.starts[at] = #lines
    vim.list_extend(lines, view.shown[at].lines)
  end
  api.nvim_buf_clear_namespace(view.buf, -1, 0, -1)
  if #lines == 0 then
    lines = { "Nothing was asked yet. Press i to say what to do." }
  else
    lines[#lines + 1] = ""
  end
  write(view, 0, -1, lines)
  for at in ipairs(session.items) do
    decorate(view, at, view.shown[at])
    set_figures(view, at, view.shown[at].right)
  end
end

---Windows on the buffer whose cursor is at its end: they follow.
---@param buf integer
---@return integer[]
local function following(buf)
  local last = api.nvim_buf_line_count(buf)
  return vim.tbl_filter(function(win)
    return api.nvim_win_get_cursor(win)[1] >= last - 1
  end, vim.fn.win_findbuf(buf))
end

---@param view loopline.View
function M.update(view)
  local session = view.link.store.sessions[view.session]
  if not session or not api.nvim_buf_is_loaded(view.buf) then
    return
  end
  if not session.reset and not next(session.dirty) then
    return
  end
  local follow = following(view.buf)
  if session.reset or #view.shown == 0 then
    show_all(view, session)
  else
    local dirty = vim.tbl_keys(session.dirty)
    table.sort(dirty)
    for _, at in ipairs(dirty) do
      show(view, session.items[at])
    end
  end
  session.reset, session.dirty = false, {}
  for _, win in ipairs(follow) do
    api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(view.buf), 0 })
  end
end

---@param view loopline.View
---@param line integer From 0.
---@return integer? at the item there
local function item_at(view, line)
  local low, high = 1, #view.starts
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if view.starts[middle] <= line then
      low = middle
    else
      high = middle - 1
    end
  end
  return view.starts[low] and low or nil
end

---For 'foldexpr'.
---@param lnum integer
---@return string|integer
function M.fold(lnum)
  local view = M.views[api.nvim_get_current_buf()]
  local at = view and item_at(view, lnum - 1)
  local shown = at and view.shown[at]
  if not shown or not shown.fold or lnum - 1 - view.starts[at] >= #shown.lines then
    return 0
  end
  return lnum - 1 == view.starts[at] and ">1" or 1
end

---The item under the cursor of the session on show.
---@return loopline.Item?
---@return loopline.View?
function M.here()
  local view = M.views[api.nvim_get_current_buf()]
  local at = view and item_at(view, api.nvim_win_get_cursor(0)[1] - 1)
  local session = view and view.link.store.sessions[view.session]
  return at and session and session.items[at], view
end

---Move to another turn.
---@param step 1|-1
function M.jump(step)
  local view = M.views[api.nvim_get_current_buf()]
  local session = view and view.link.store.sessions[view.session]
  if not view or not session then
    return
  end
  local at = item_at(view, api.nvim_win_get_cursor(0)[1] - 1) or 1
  for other = at + step, step > 0 and #session.items or 1, step do
    if session.items[other].kind == "turn" then
      api.nvim_win_set_cursor(0, { view.starts[other] + 1, 0 })
      return
    end
  end
end

return M
