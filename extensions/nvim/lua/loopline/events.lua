---What the server tells, folded into the state: a table of functions, one per kind of event. Pure.

local state = require("loopline.state")

local M = {}

---@param store loopline.Store
---@param id string
local function drop_approval(store, id)
  for at, approval in ipairs(store.approvals) do
    if approval.approvalId == id then
      table.remove(store.approvals, at)
      return
    end
  end
end

---@type table<string, fun(store: loopline.Store, session: loopline.SessionState, event: table)>
local ON = {}

ON["session.opened"] = function(_, session, event)
  session.model, session.note = event.model, event.note or ""
end

ON["session.hosting"] = function(_, session, event)
  session.hosting = event.state
  local words =
    { attached = "watching: another process hosts this session", lost = "the process that hosted it is gone" }
  local said = words[event.state] or "this editor hosts the session now"
  state.add(session, { kind = "notice", severity = event.state == "lost" and "warning" or "info", text = said })
end

ON["context"] = function(_, session, event)
  session.context = event
end

ON["turn.started"] = function(store, session, event)
  session.streaming, session.thinking = nil, nil
  state.head(session, event.turnId, event.title, "running", store.asked[event.turnId])
end

ON["turn.finished"] = function(store, session, event)
  for at = #store.approvals, 1, -1 do
    if store.approvals[at].turnId == event.turnId then
      table.remove(store.approvals, at)
    end
  end
  local turn = state.turn_of(session, event.turnId)
  state.finish(session, turn, event.status, event.text or "", event.durationMs)
end

ON["turn.undone"] = function(_, session, event)
  local turn = session.turns[event.turnId]
  if turn then
    turn.undo_id = event.undoId
  end
  state.add(
    session,
    { kind = "undone", turn = event.turnId, restored = event.restored or {}, conflicts = event.conflicts or {} }
  )
end

ON["input"] = function(_, session, event)
  state.add(session, { kind = "user", turn = event.turnId, text = event.text, fate = event.fate })
end

ON["text.delta"] = function(_, session, event)
  local item = session.streaming
  if not item or item.turn ~= event.turnId then
    item = state.add(session, { kind = "text", turn = event.turnId, text = "" })
    session.streaming = item
  end
  item.text = item.text .. event.text
  state.touch(session, item)
end

ON["reasoning.delta"] = function(_, session, event)
  local item = session.thinking
  if not item or item.turn ~= event.turnId then
    item = state.add(session, { kind = "thought", turn = event.turnId, text = "", status = "running" })
    session.thinking = item
  end
  item.text = item.text .. event.text
  state.touch(session, item)
end

---A service that keeps the model's thoughts to itself tells only how long they took: nothing is shown of them.
ON["reasoning.done"] = function(_, session, event)
  local item, said = session.thinking, event.text or ""
  session.thinking = nil
  if not item and said ~= "" then
    item = state.add(session, { kind = "thought", turn = event.turnId })
  end
  if item then
    item.text, item.status, item.duration_ms = said, "done", event.durationMs
    state.touch(session, item)
  end
end

ON["text.voided"] = function(_, session, event)
  if session.thinking then
    session.thinking.text, session.thinking.status = "", "done"
    state.touch(session, session.thinking)
    session.thinking = nil
  end
  if session.streaming then
    session.streaming.text = ""
    state.touch(session, session.streaming)
  end
  state.add(
    session,
    { kind = "notice", turn = event.turnId, severity = "info", text = "the call starts anew: " .. event.cause }
  )
  session.streaming = nil
end

ON["text.done"] = function(_, session, event)
  state.turn_of(session, event.turnId).said = event.text
  local item = session.streaming or state.add(session, { kind = "text", turn = event.turnId })
  item.text = event.text
  state.touch(session, item)
  session.streaming = nil
end

ON["tool.started"] = function(_, session, event)
  local item = session.tools[event.toolCallId] or state.add(session, { kind = "tool", turn = event.turnId })
  item.name, item.arguments, item.status = event.name, event.arguments, "running"
  item.tool_call = event.toolCallId
  session.tools[event.toolCallId] = item
  state.touch(session, item)
end

ON["tool.output"] = function(_, session, event)
  local item = session.tools[event.toolCallId]
  if item and item.status == "running" then
    item.line = event.line
    state.touch(session, item)
  end
end

ON["tool.finished"] = function(_, session, event)
  local item = session.tools[event.toolCallId]
    or state.add(session, { kind = "tool", turn = event.turnId, name = event.name })
  session.tools[event.toolCallId] = item
  item.status, item.summary, item.diff = event.status, event.summary, event.diff
  item.duration_ms, item.line, item.tool_call = event.durationMs, nil, event.toolCallId
  state.touch(session, item)
end

ON["plan"] = function(_, session, event)
  local turn = state.turn_of(session, event.turnId)
  turn.plan = turn.plan or state.add(session, { kind = "plan", turn = event.turnId })
  turn.plan.steps = event.steps or {}
  state.touch(session, turn.plan)
end

ON["diff"] = function(_, session, event)
  local turn = state.turn_of(session, event.turnId)
  turn.diff = turn.diff or state.add(session, { kind = "diff", turn = event.turnId })
  turn.diff.files = event.files or {}
  state.touch(session, turn.diff)
end

ON["question"] = function(store, session, event)
  local item = state.add(session, { kind = "question", turn = event.turnId, question = event.question })
  item.question_id, item.options = event.questionId, event.options or {}
  store.questions[event.questionId] = item
end

ON["question.answered"] = function(store, session, event)
  local item = store.questions[event.questionId]
  store.questions[event.questionId] = nil
  if item then
    item.answer = event.answer or ""
    state.touch(session, item)
  end
end

ON["approval.opened"] = function(store, session, event)
  state.open_approval(store, session, event.approval)
end

ON["approval.resolved"] = function(store, session, event)
  drop_approval(store, event.approvalId)
  for at = #session.items, 1, -1 do
    local item = session.items[at]
    if item.kind == "approval" and item.approval.approvalId == event.approvalId then
      item.decision = event.decision
      state.touch(session, item)
      return
    end
  end
end

ON["notice"] = function(_, session, event)
  state.add(session, { kind = "notice", severity = event.severity, text = event.text })
end

---The figures of a call, those that it can't tell yet taken from the call before.
---@param before? loopline.Call
---@param call loopline.Call
---@return loopline.Call
local function latest(before, call)
  local found = vim.deepcopy(call)
  for _, name in ipairs({ "tokensPerS", "ttftMs", "cachedShare" }) do
    found[name] = call[name] or (before and before[name]) or nil
  end
  return found
end

ON["call"] = function(_, session, event)
  local turn = state.turn_of(session, event.turnId)
  local place = #turn.calls + 1
  for at, call in ipairs(turn.calls) do
    place = call.callId == event.callId and at or place
  end
  turn.calls[place] = event
  turn.figures = latest(turn.figures, event)
  if turn.header and turn.status == "running" then
    turn.header.call = turn.figures
    state.touch(session, turn.header)
  end
end

ON["stages"] = function(_, session, event)
  state.turn_of(session, event.turnId).stages_ms = event.stagesMs
  for at = #session.items, 1, -1 do
    local item = session.items[at]
    if item.kind == "end" and item.turn == event.turnId then
      item.stages_ms = event.stagesMs
      state.touch(session, item)
      return
    elseif item.kind == "turn" then
      return
    end
  end
end

---@param store loopline.Store
---@param event table
---@param id string
local function apply(store, event, id)
  if ON[event.type] then
    ON[event.type](store, state.session(store, id), event)
  end
end

---Fold one notification in. An event of a kind that this version does not know is left out.
---@param store loopline.Store
---@param params loopline.Events
---@return boolean whole false: some notifications before this one were left out
function M.fold(store, params)
  local whole = store.seq == 0 or params.seq == store.seq + 1
  store.seq = params.seq
  for _, event in ipairs(params.events) do
    local id = event.sessionId or (event.approval and event.approval.sessionId) or store.current
    if event.type == "status" then
      store.status = {}
      for _, category in ipairs(event.categories) do
        store.status[category.category] = category
      end
    elseif id and store.held[id] then
      table.insert(store.held[id], event)
    elseif id then
      apply(store, event, id)
    end
  end
  return whole
end

---A session is about to be read anew: keep its events for after that.
---@param store loopline.Store
---@param id string
function M.hold(store, id)
  store.held[id] = store.held[id] or {}
end

---@param session loopline.SessionState
---@param said string
---@return boolean
local function is_shown(session, said)
  for at = #session.items, math.max(1, #session.items - 5), -1 do
    local item = session.items[at]
    if item.kind == "text" and item ~= session.streaming and vim.trim(item.text) == vim.trim(said) then
      return true
    end
  end
  return false
end

---It was read: what came meanwhile follows, but for words that were read already.
---@param store loopline.Store
---@param id string
function M.release(store, id)
  local held = store.held[id] or {}
  store.held[id] = nil
  for _, event in ipairs(held) do
    local session = store.sessions[id]
    if event.type == "text.done" and session and is_shown(session, event.text) then
      if session.streaming then
        session.streaming.text = ""
        state.touch(session, session.streaming)
        session.streaming = nil
      end
    else
      apply(store, event, id)
    end
  end
end

return M
