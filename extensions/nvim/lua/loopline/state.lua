---Sessions as items, for whoever shows them; `events.lua` folds into them what the server tells. Pure.
---
---Owns no buffers and no requests. Whoever shows a session takes `session.dirty` (items whose lines may differ) and
---`session.reset` (everything may), and empties them.

local M = {}

---@alias loopline.ItemKind
---| "turn"|"user"|"text"|"thought"|"tool"|"plan"|"notice"|"approval"
---| "question"|"diff"|"calls"|"end"|"undone"|"more"

---@class loopline.Item
---@field id integer Its place in `session.items`.
---@field kind loopline.ItemKind
---@field turn? string
---@field text? string
---@field title? string
---@field status? string
---@field call? loopline.Call Of the running turn, for live figures.
---@field name? string
---@field arguments? string
---@field tool_call? string
---@field summary? string
---@field diff? string
---@field line? string The latest line of a running tool.
---@field severity? loopline.Severity
---@field steps? loopline.Step[]
---@field files? loopline.FileDiff[]
---@field calls? loopline.Call[]
---@field stages_ms? table<string, number>
---@field duration_ms? number
---@field approval? loopline.Approval
---@field decision? string
---@field question? string What the model asks.
---@field question_id? string
---@field options? string[]
---@field answer? string nil: it waits.
---@field fate? string
---@field restored? string[]
---@field conflicts? string[]

---@class loopline.TurnState
---@field id string
---@field title string
---@field status string
---@field header? loopline.Item
---@field plan? loopline.Item
---@field diff? loopline.Item
---@field calls loopline.Call[]
---@field figures? loopline.Call Of the latest call; what it can't tell yet is of the one before.
---@field stages_ms? table<string, number>
---@field said? string The latest whole text.
---@field undo_id? string

---@class loopline.SessionState
---@field id string
---@field title string
---@field model string
---@field note string
---@field hosting string
---@field context? loopline.ContextSize How full the conversation is.
---@field items loopline.Item[]
---@field turns table<string, loopline.TurnState>
---@field order string[] Turn ids as they came.
---@field tools table<string, loopline.Item>
---@field streaming? loopline.Item The text that grows.
---@field thinking? loopline.Item The reasoning that grows.
---@field first_index? integer Of the transcript's entries that are loaded, the first.
---@field dirty table<integer, boolean>
---@field reset boolean

---@class loopline.Store
---@field sessions table<string, loopline.SessionState>
---@field current? string The session on show.
---@field approvals loopline.Approval[] Open ones, oldest first.
---@field questions table<string, loopline.Item> Open ones of the model, by id.
---@field status table<string, loopline.Category>
---@field seq integer
---@field asked table<string, string> What this editor asked for, by turn.
---@field held table<string, loopline.AnyEvent[]> Of sessions that are being read anew: events for after that.

---@return loopline.Store
function M.new()
  return { sessions = {}, approvals = {}, questions = {}, status = {}, seq = 0, asked = {}, held = {} }
end

---@param store loopline.Store
---@param id string
---@return loopline.SessionState
function M.session(store, id)
  local found = store.sessions[id]
  if not found then
    found = {
      id = id,
      title = "",
      model = "",
      note = "",
      hosting = "live",
      items = {},
      turns = {},
      order = {},
      tools = {},
      dirty = {},
      reset = true,
    }
    store.sessions[id] = found
    store.current = store.current or id
  end
  return found
end

---@param session loopline.SessionState
---@param item table
---@return loopline.Item
function M.add(session, item)
  item.id = #session.items + 1
  session.items[item.id] = item
  session.dirty[item.id] = true
  return item
end

---@param session loopline.SessionState
---@param item? loopline.Item
function M.touch(session, item)
  if item then
    session.dirty[item.id] = true
  end
end

---A turn that is only heard of by its figures or its diff does not count as running.
---@param session loopline.SessionState
---@param id string
---@return loopline.TurnState
function M.turn_of(session, id)
  local turn = session.turns[id]
  if not turn then
    turn = { id = id, title = "", status = "unknown", calls = {} }
    session.turns[id] = turn
    session.order[#session.order + 1] = id
  end
  return turn
end

---Put the header of a turn where it begins, or bring it up to date.
---@param session loopline.SessionState
---@param id string
---@param title string
---@param status string
---@param task? string All that was asked.
function M.head(session, id, title, status, task)
  local turn = M.turn_of(session, id)
  turn.title, turn.status = title ~= "" and title or turn.title, status
  session.title = session.title ~= "" and session.title or turn.title
  turn.header = turn.header or M.add(session, { kind = "turn", turn = id })
  turn.header.title, turn.header.status = turn.title, status
  turn.header.text = task or turn.header.text
  M.touch(session, turn.header)
end

---@param store loopline.Store
---@param session loopline.SessionState
---@param approval loopline.Approval
function M.open_approval(store, session, approval)
  for _, known in ipairs(store.approvals) do
    if known.approvalId == approval.approvalId then
      return
    end
  end
  table.insert(store.approvals, approval)
  M.add(session, { kind = "approval", turn = approval.turnId, approval = approval })
end

---@param session loopline.SessionState
---@param turn loopline.TurnState
---@param status string
---@param text string
---@param duration_ms? number
function M.finish(session, turn, status, text, duration_ms)
  session.streaming = nil
  turn.status = status
  M.head(session, turn.id, turn.title, status)
  turn.header.call = nil
  local last = session.items[#session.items]
  local told = last.kind == "notice" and last.text or turn.said or ""
  local said = vim.trim(text) ~= vim.trim(told) and text or ""
  if #turn.calls > 0 then
    M.add(session, { kind = "calls", turn = turn.id, calls = turn.calls })
  end
  M.add(session, {
    kind = "end",
    turn = turn.id,
    status = status,
    text = said,
    duration_ms = duration_ms,
    stages_ms = turn.stages_ms,
  })
end

---A turn that this editor asked for, before the server tells of it.
---@param store loopline.Store
---@param started loopline.TurnStarted
---@param task string
function M.asked(store, started, task)
  local session = M.session(store, started.sessionId)
  store.current, store.asked[started.turnId] = started.sessionId, task
  local known = session.turns[started.turnId]
  M.head(
    session,
    started.turnId,
    known and known.title or task:match("[^\n]*"),
    known and known.status or "queued",
    task
  )
end

---@param session loopline.SessionState
---@return loopline.TurnState? turn the one that runs, else the first in the queue
function M.running(session)
  local queued
  for _, id in ipairs(session.order) do
    local turn = session.turns[id]
    if turn.status == "running" then
      return turn
    end
    queued = queued or (turn.status == "queued" and turn or nil)
  end
  return queued
end

---@param store loopline.Store
---@return loopline.SessionState?
function M.current(store)
  return store.current and store.sessions[store.current]
end

---The server is gone: what ran is interrupted, what was asked is void.
---@param store loopline.Store
function M.lost(store)
  store.approvals, store.seq, store.status = {}, 0, {}
  for _, session in pairs(store.sessions) do
    for _, id in ipairs(session.order) do
      local turn = session.turns[id]
      if turn.status == "running" or turn.status == "queued" then
        M.finish(session, turn, "interrupted", "Loopline's server is gone")
      end
    end
    for _, item in ipairs(session.items) do
      if (item.kind == "tool" and item.status == "running") or (item.kind == "approval" and not item.decision) then
        item.status, item.decision = "cancelled", item.decision or "void"
        M.touch(session, item)
      end
    end
  end
end

return M
