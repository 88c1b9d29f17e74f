---Reviewing what a session changed, change by change. The files hold the new text already: accepting leaves it,
---rejecting puts the old text back and saves the file, unless it has changes of the user's that are not saved.

local client = require("loopline.client")
local hunks = require("loopline.hunks")
local keys = require("loopline.keys")
local render = require("loopline.render")
local saves = require("loopline.saves")
local state = require("loopline.state")
local text = require("loopline.text")

local M = {}

local api = vim.api
local NS = api.nvim_create_namespace("loopline.review")

---@class loopline.Review
---@field link loopline.Link
---@field session string
---@field buf integer
---@field changes loopline.Change[]
---@field starts integer[] Line of each change, from 1.

---@type loopline.Review?
local current
---@type table<string, table<string, "accepted"|"rejected">> by session, by key of the change
local decided = {}

local MARKS = {
  accepted = { "✓ accepted", "LooplineOk" },
  rejected = { "✗ rejected", "LooplineError" },
}

---The latest diff of a session. A session's diff holds all that its turns changed.
---@param session loopline.SessionState
---@return loopline.FileDiff[]?
local function files_of(session)
  for at = #session.order, 1, -1 do
    local turn = session.turns[session.order[at]]
    if turn.diff then
      return turn.diff.files
    end
  end
end

---@param session loopline.SessionState
---@return loopline.Change[] changes
---@return string[] notes what can't be reviewed here
function M.changes(session)
  local found, notes = {}, {}
  for _, file in ipairs(files_of(session) or {}) do
    local changes, cut = hunks.parse(file)
    vim.list_extend(found, changes)
    if file.diff == "" then
      notes[#notes + 1] = file.path .. render.by(file) .. ": no text, or too large to be shown"
    elseif cut then
      notes[#notes + 1] = file.path .. ": its diff is too long to be shown whole"
    end
  end
  return found, notes
end

---@param change loopline.Change
---@return "accepted"|"rejected"|nil
local function decision(change)
  return current and vim.tbl_get(decided, current.session, change.key)
end

local function draw()
  local review = current
  local session = review and review.link.store.sessions[review.session]
  if not review or not session or not api.nvim_buf_is_valid(review.buf) then
    return
  end
  local changes, notes = M.changes(session)
  local seen = {}
  for _, change in ipairs(changes) do
    seen[change.key] = true
  end
  for _, change in ipairs(review.changes) do -- what was rejected is in no diff any more, and stays on show
    if not seen[change.key] and decision(change) == "rejected" then
      changes[#changes + 1] = change
    end
  end
  local lines, marks, starts, open = { "" }, {}, {}, 0
  for at, change in ipairs(changes) do
    local mark = MARKS[decision(change)] or { "", "LooplineTool" }
    open = open + (decision(change) and 0 or 1)
    local rendered = render.change(change, mark[1], mark[2])
    starts[at] = #lines + 1
    for _, one in ipairs(rendered.marks) do
      marks[#marks + 1] = { #lines + one.line, one.hl }
    end
    vim.list_extend(lines, rendered.lines)
    lines[#lines + 1] = ""
  end
  local head = #changes == 0 and "No change to review."
    or ("%s, %d to decide"):format(text.counted(#changes, "change"), open)
  lines[1] = head .. "   (a accept, x reject, A and X all, ]h [h move, g? help)"
  for _, note in ipairs(notes) do
    lines[#lines + 1] = "! " .. text.one_line(note)
  end
  review.changes, review.starts = changes, starts
  vim.bo[review.buf].modifiable = true
  api.nvim_buf_set_lines(review.buf, 0, -1, false, lines)
  vim.bo[review.buf].modifiable = false
  api.nvim_buf_clear_namespace(review.buf, NS, 0, -1)
  api.nvim_buf_set_extmark(review.buf, NS, 0, 0, { end_col = #lines[1], hl_group = "LooplineQuiet" })
  for _, mark in ipairs(marks) do
    api.nvim_buf_set_extmark(review.buf, NS, mark[1], 0, { end_col = #lines[mark[1] + 1], hl_group = mark[2] })
  end
end

---@return integer? at the change under the cursor
local function here()
  local line = api.nvim_win_get_cursor(0)[1]
  local found
  for at, start in ipairs(current and current.starts or {}) do
    if start <= line then
      found = at
    end
  end
  return found
end

---@param at integer
local function go(at)
  if current and current.starts[at] then
    api.nvim_win_set_cursor(0, { current.starts[at], 0 })
  end
end

function M.next()
  go((here() or 0) + 1)
end

function M.previous()
  local at = here()
  if at then
    local inside = api.nvim_win_get_cursor(0)[1] > current.starts[at]
    go(inside and at or at - 1)
  end
end

---@param change loopline.Change
---@param what "accepted"|"rejected"
local function decide(change, what)
  decided[current.session] = decided[current.session] or {}
  decided[current.session][change.key] = what
end

---The next one that is not decided, so that one key after the other goes through all.
---@param from integer
local function advance(from)
  draw()
  for at = from, #current.changes do
    if not decision(current.changes[at]) then
      go(at)
      return
    end
  end
end

function M.accept()
  local at = here()
  if at then
    decide(current.changes[at], "accepted")
    advance(at)
  end
end

-- Taking back

---@param path string
---@param change loopline.Change
---@return string? problem
local function revert_whole(path, change)
  local bufnr = require("loopline.buffers").of(path)
  if bufnr ~= -1 and vim.bo[bufnr].modified then
    return "it has unsaved changes"
  end
  if change.whole == "deleted" then
    if vim.uv.fs_stat(path) then
      return "it is there again"
    end
    pcall(vim.fn.mkdir, vim.fs.dirname(path), "p")
    return vim.fn.writefile(change.removed, path) ~= 0 and "it could not be written" or nil
  end
  local ok, lines = pcall(vim.fn.readfile, path)
  if not ok or not vim.deep_equal(lines, change.added) then
    return "it was changed since"
  end
  if vim.fn.delete(path) ~= 0 then
    return "it could not be deleted"
  end
  if bufnr ~= -1 then
    api.nvim_buf_delete(bufnr, { force = true })
  end
end

---Run `act` with a buffer of the file, without opening the file for the user.
---@param path string
---@param act fun(bufnr: integer): string?
---@return string? problem
local function with_buffer(path, act)
  local bufnr = vim.fn.bufadd(path)
  local loaded = api.nvim_buf_is_loaded(bufnr)
  if not loaded then
    if not vim.uv.fs_stat(path) then
      return "it is gone"
    end
    vim.bo[bufnr].swapfile = false
    vim.cmd(("noautocmd silent call bufload(%d)"):format(bufnr))
  end
  local problem = act(bufnr)
  if not loaded then
    api.nvim_buf_delete(bufnr, { force = true })
  end
  return problem
end

---@param change loopline.Change
---@return string? problem
local function revert(change)
  local path = vim.uri_to_fname(change.uri)
  if change.whole then
    return revert_whole(path, change)
  end
  return with_buffer(path, function(bufnr)
    local clean = not vim.bo[bufnr].modified
    local lines = api.nvim_buf_get_lines(bufnr, 0, -1, false)
    if vim.bo[bufnr].fileformat == "dos" then
      change = vim.deepcopy(change)
      for _, part in ipairs({ change.before, change.removed, change.added, change.after }) do
        for at, line in ipairs(part) do
          part[at] = line:gsub("\r$", "")
        end
      end
    end
    local splice = hunks.revert(change, lines)
    if not splice then
      return "the place was changed since"
    elseif not vim.bo[bufnr].modifiable or vim.bo[bufnr].readonly then
      return "it is read-only"
    end
    api.nvim_buf_set_lines(bufnr, splice.first - 1, splice.first - 1 + splice.count, false, splice.lines)
    if not clean then
      client.notify(change.path .. " has changes of yours; save it when you are ready")
      return
    end
    local saved, why = saves.write(bufnr)
    if not saved then
      api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
      return why or "it could not be saved"
    end
  end)
end

---@param change loopline.Change
---@return boolean done
local function reject(change)
  if decision(change) == "rejected" then
    return true
  end
  local problem = revert(change)
  if problem then
    client.notify(("%s stays as it is: %s"):format(change.path, problem), vim.log.levels.WARN)
    return false
  end
  decide(change, "rejected")
  return true
end

function M.reject()
  local at = here()
  if at and reject(current.changes[at]) then
    advance(at)
  end
end

function M.accept_all()
  for _, change in ipairs(current and current.changes or {}) do
    if not decision(change) then
      decide(change, "accepted")
    end
  end
  draw()
end

---From the last to the first, so that the places of the others stay where they are.
function M.reject_all()
  local changes = vim.list_slice(current and current.changes or {})
  for at = #changes, 1, -1 do
    if not decision(changes[at]) then
      reject(changes[at])
    end
  end
  draw()
end

function M.visit()
  local at = here()
  local change = at and current.changes[at]
  if change and vim.uv.fs_stat(vim.uri_to_fname(change.uri)) then
    local uri, lnum = change.uri, hunks.line(change)
    local bufnr = vim.fn.bufadd(vim.uri_to_fname(uri))
    vim.bo[bufnr].buflisted = true
    vim.cmd.split()
    api.nvim_win_set_buf(0, bufnr)
    local place = hunks.find(change, api.nvim_buf_get_lines(bufnr, 0, -1, false)) or lnum
    api.nvim_win_set_cursor(0, { math.min(place, api.nvim_buf_line_count(bufnr)), 0 })
  end
end

function M.close()
  if #api.nvim_tabpage_list_wins(0) > 1 or vim.fn.tabpagenr("$") > 1 then
    api.nvim_win_close(0, false)
  end
end

---What the latest turn of a session did, where nobody here watched it.
---@param link loopline.Link
---@param session loopline.SessionState
---@param done fun()
local function fetch(link, session, done)
  local id = session.order[#session.order]
  if not id then
    client.notify("the session changed no file yet")
    return
  end
  client.request(link, "loopline/turn.changes", { sessionId = session.id, turnId = id }, function(answer)
    local files = {}
    for _, file in ipairs(answer.files or {}) do
      local shown = { path = file.path, uri = file.uri, diff = file.diff or "", by = file.by }
      shown.added, shown.removed = file.added or 0, file.removed or 0
      files[#files + 1] = shown
    end
    if #files == 0 then
      client.notify("the latest turn left no change")
      return
    end
    state.turn_of(session, id).diff = state.add(session, { kind = "diff", turn = id, files = files })
    client.tell("changed", link)
    done()
  end)
end

---@param link loopline.Link
function M.open(link)
  local session = state.current(link.store)
  if not session then
    client.notify("there is no session yet")
    return
  elseif not files_of(session) then
    fetch(link, session, function()
      M.open(link)
    end)
    return
  end
  local buf = current and api.nvim_buf_is_valid(current.buf) and current.buf or api.nvim_create_buf(false, true)
  current = { link = link, session = session.id, buf = buf, changes = {}, starts = {} }
  if api.nvim_buf_get_name(buf) == "" then
    api.nvim_buf_set_name(buf, "loopline://review")
    vim.bo[buf].buftype, vim.bo[buf].swapfile, vim.bo[buf].modeline = "nofile", false, false
    vim.bo[buf].bufhidden, vim.bo[buf].modifiable, vim.bo[buf].undolevels = "hide", false, -1
    vim.bo[buf].filetype = "loopline-review"
    keys.review(buf)
  end
  vim.b[buf].loopline_root = link.root
  local win = vim.fn.win_findbuf(buf)[1]
  if win then
    api.nvim_set_current_win(win)
  else
    vim.cmd.tabnew()
    api.nvim_win_set_buf(0, buf)
    vim.wo[0][0].wrap, vim.wo[0][0].number, vim.wo[0][0].signcolumn = false, false, "no"
  end
  draw()
  go(1)
end

function M.setup()
  client.on("events", function(link, events)
    local concerns = current and current.link == link and api.nvim_buf_is_valid(current.buf)
    for _, event in ipairs(concerns and events or {}) do
      if event.type == "diff" or event.type == "turn.undone" then
        draw()
        return
      end
    end
  end)
end

return M
