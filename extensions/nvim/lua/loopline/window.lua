---The windows of sessions: opening, closing, what they look like, and the line above.

local client = require("loopline.client")
local config = require("loopline.config")
local keys = require("loopline.keys")
local state = require("loopline.state")
local status = require("loopline.status")
local status_view = require("loopline.status_view")
local text = require("loopline.text")
local views = require("loopline.view")

local M = {}

local api = vim.api

---@param session string
---@return loopline.View?
local function view_of(session)
  for _, view in pairs(views.views) do
    if view.session == session then
      return view
    end
  end
end

---@param link loopline.Link
---@param session loopline.SessionState
---@return loopline.View
local function make(link, session)
  local buf = api.nvim_create_buf(false, true)
  local view = { link = link, session = session.id, buf = buf, shown = {}, starts = {}, figures = {} }
  views.views[buf] = view
  api.nvim_buf_set_name(buf, "loopline://session/" .. session.id)
  vim.bo[buf].buftype, vim.bo[buf].swapfile, vim.bo[buf].modeline = "nofile", false, false
  vim.bo[buf].bufhidden, vim.bo[buf].modifiable, vim.bo[buf].undolevels = "hide", false, -1
  vim.b[buf].loopline_root = link.root
  vim.bo[buf].filetype = "loopline"
  keys.session(buf)
  api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    callback = function()
      views.views[buf] = nil
    end,
  })
  session.reset = true
  views.update(view)
  return view
end

---@param win integer
function M.dress(win)
  local options = {
    foldmethod = "expr",
    foldexpr = "v:lua.require'loopline.view'.fold(v:lnum)",
    foldtext = "",
    foldlevel = 0,
    foldenable = true,
    wrap = true,
    linebreak = true,
    breakindent = true,
    number = false,
    relativenumber = false,
    signcolumn = "no",
    foldcolumn = "0",
    spell = false,
    list = false,
    winfixwidth = true,
    conceallevel = 0,
    winhighlight = "Folded:Normal",
  }
  for name, value in pairs(options) do
    vim.wo[win][0][name] = value
  end
  vim.wo[win][0].fillchars = "fold: ,eob: "
end

---@return integer? win of this tab page that shows a session
function M.window()
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if views.views[api.nvim_win_get_buf(win)] then
      return win
    end
  end
end

---@param session string
---@return boolean whether it is on screen
function M.shown(session)
  local view = view_of(session)
  return view ~= nil and #vim.fn.win_findbuf(view.buf) > 0
end

---@param buf integer
---@return integer win
local function split(buf)
  local options = config.get()
  if options.window == "tab" then
    vim.cmd.tabnew()
    api.nvim_win_set_buf(0, buf)
    return api.nvim_get_current_win()
  end
  local below = options.window == "bottom"
  local size = below and { height = options.height }
    or { width = math.min(options.width, math.floor(vim.o.columns * 0.6)) }
  local how = vim.tbl_extend("error", { win = -1, split = below and "below" or options.window }, size)
  return api.nvim_open_win(buf, true, how)
end

---Show the session at hand; a link without one gets one with its first turn.
---@param link loopline.Link
---@param how {focus: boolean}
function M.open(link, how)
  local session = state.current(link.store)
  if not session then
    require("loopline.sessions").new(link, function()
      M.open(link, how)
    end)
    return
  end
  local view = view_of(session.id) or make(link, session)
  local from, win = api.nvim_get_current_win(), M.window()
  if win then
    api.nvim_win_set_buf(win, view.buf)
  else
    win = split(view.buf)
  end
  M.dress(win)
  api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(view.buf), 0 })
  M.bars(link)
  api.nvim_set_current_win(how.focus and win or from)
end

function M.close()
  local win = M.window()
  if win and #api.nvim_tabpage_list_wins(0) > 1 then
    api.nvim_win_close(win, false)
  end
end

---The line above a session: which it is, what its plan is at, and the figures.
---@param link loopline.Link
function M.bars(link)
  for _, view in pairs(views.views) do
    local session = view.link == link and link.store.sessions[view.session]
    if session then
      local turn = state.running(session)
      local parts = { text.for_statusline(text.one_line(session.title ~= "" and session.title or "new session", 30)) }
      local plan = turn and turn.plan
      local step = plan and vim.iter(plan.steps):find(function(one)
        return one.status == "doing"
      end)
      if step then
        parts[#parts + 1] = "▸ " .. text.for_statusline(text.one_line(step.text, 50))
      end
      local words = status.line(status_view.of(link), "bar")
      local full = text.for_statusline(status.context(session.context))
      local right = full == "" and words or (full .. " · " .. words)
      local bar = "%<" .. table.concat(parts, " ") .. " %= " .. right .. " "
      for _, win in ipairs(vim.fn.win_findbuf(view.buf)) do
        if vim.wo[win][0].winbar ~= bar then
          vim.wo[win][0].winbar = bar
        end
      end
    end
  end
end

function M.setup()
  client.on("changed", function(link)
    for _, view in pairs(views.views) do
      if view.link == link then
        views.update(view)
        local current = link.store.current
        if current and current ~= view.session and #vim.fn.win_findbuf(view.buf) > 0 then
          vim.schedule(function()
            M.open(link, { focus = false })
          end)
        end
      end
    end
    M.bars(link)
  end)
end

return M
