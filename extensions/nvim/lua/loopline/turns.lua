---Turns: starting, steering, cancelling, taking back.

local client = require("loopline.client")
local config = require("loopline.config")
local progress = require("loopline.progress")
local state = require("loopline.state")
local text = require("loopline.text")

local M = {}

---@param link loopline.Link
---@param asked loopline.TurnStart
---@param done? fun(started: loopline.TurnStarted)
function M.start(link, asked, done)
  if vim.trim(asked.task or "") == "" then
    client.notify("say what to do", vim.log.levels.WARN)
    return
  end
  asked = vim.deepcopy(asked)
  asked.sessionId = asked.sessionId or link.store.current
  client.exec(link, "loopline.turn.start", asked, function(started)
    state.asked(link.store, started, asked.task)
    client.tell("changed", link)
    if config.get().open_on_start then
      require("loopline.window").open(link, { focus = false })
    end
    if done then
      done(started)
    end
  end, nil, progress.token())
end

---@param link loopline.Link
---@return loopline.TurnState?
function M.running(link)
  local session = state.current(link.store)
  local found = session and state.running(session)
  if found then
    return found
  end
  for _, other in pairs(link.store.sessions) do
    found = found or state.running(other)
  end
  return found
end

---@param link loopline.Link
---@param words string
function M.steer(link, words)
  local turn = M.running(link)
  if not turn then
    client.notify("nothing runs", vim.log.levels.WARN)
    return
  end
  client.exec(link, "loopline.turn.steer", { turnId = turn.id, text = words }, function(answer)
    if answer.fate == "refused" then
      client.notify("too late: the turn took no more", vim.log.levels.WARN)
    end
  end)
end

---What the composer sends: more for the turn that runs, else a new turn.
---@param link loopline.Link
---@param words string
---@param place? loopline.Ask
function M.say(link, words, place)
  if M.running(link) and not place then
    M.steer(link, words)
  else
    local asked = { task = words }
    if place then
      asked.textDocument, asked.range = place.textDocument, place.range
    end
    M.start(link, asked)
  end
end

---@param link loopline.Link
---@param turn_id? string
function M.cancel(link, turn_id)
  local turn = turn_id or vim.tbl_get(M.running(link) or {}, "id")
  if turn then
    client.exec(link, "loopline.turn.cancel", { turnId = turn })
  elseif progress.cancel_all(link) == 0 then
    client.notify("nothing runs", vim.log.levels.WARN)
  end
end

---The latest turn that ended, for `undo`.
---@param link loopline.Link
---@return loopline.TurnState?
function M.last(link)
  local session = state.current(link.store)
  for at = session and #session.order or 0, 1, -1 do
    local turn = session.turns[session.order[at]]
    if turn.status ~= "queued" then
      return turn
    end
  end
end

---@param link loopline.Link
---@param turn_id? string
function M.undo(link, turn_id)
  local turn = turn_id or vim.tbl_get(M.last(link) or {}, "id")
  if not turn then
    client.notify("there is no turn to take back", vim.log.levels.WARN)
    return
  end
  client.exec(link, "loopline.turn.undo", { turnId = turn })
end

---Undo the latest undoing.
---@param link loopline.Link
function M.redo(link)
  local session = state.current(link.store)
  for at = session and #session.order or 0, 1, -1 do
    local turn = session.turns[session.order[at]]
    if turn.undo_id then
      client.exec(link, "loopline.turn.undo", { turnId = turn.undo_id })
      turn.undo_id = nil
      return
    end
  end
  client.notify("nothing was taken back", vim.log.levels.WARN)
end

---Fix what a diagnostic says on the cursor's line.
---@param link loopline.Link
---@param bufnr integer
---@param lnum integer From 0.
function M.fix(link, bufnr, lnum)
  local found = vim.diagnostic.get(bufnr, { lnum = lnum })
  if #found == 0 then
    client.notify("there is no diagnostic on this line", vim.log.levels.WARN)
    return
  end
  local encoding = link.client and link.client.offset_encoding or "utf-8"
  local converted = require("loopline.findings").converted({ found[1] }, function(line)
    return vim.api.nvim_buf_get_lines(bufnr, line, line + 1, false)[1] or ""
  end, encoding)[1]
  M.start(link, {
    task = "Fix this problem: " .. converted.message:sub(1, 500),
    textDocument = { uri = vim.uri_from_bufnr(bufnr) },
    range = converted.range,
    diagnostic = converted,
  })
end

---@param link loopline.Link
---@param events loopline.AnyEvent[]
function M.heard(link, events)
  for _, event in ipairs(events) do
    if event.type == "tool.finished" then
      require("loopline.saves").refresh(link.root, event.filesChanged or {})
    elseif event.type == "turn.undone" then
      require("loopline.saves").refresh(link.root, event.restored or {})
    elseif
      event.type == "turn.finished"
      and config.get().notify
      and not require("loopline.window").shown(event.sessionId)
    then
      local turn = vim.tbl_get(link.store.sessions, event.sessionId, "turns", event.turnId)
      local level = event.status == "failed" and vim.log.levels.WARN or vim.log.levels.INFO
      local title = text.one_line(turn and turn.title or "a turn", 60)
      client.notify(("%s %s in %s"):format(title, event.status, text.duration(event.durationMs)), level)
    end
  end
end

return M
