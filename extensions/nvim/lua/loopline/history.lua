---A session's transcript as items: what is shown when a session is taken up again. Pure.

local state = require("loopline.state")

local M = {}

---@param text string
---@return string
local function first_line(text)
  return vim.trim(text):match("[^\n]*"):sub(1, 200)
end

---Which entry began which turn: by its id where the transcript says it, else the latest entry with the turn's title.
---@param entries loopline.Entry[]
---@param turns loopline.Turn[]
---@return table<integer, loopline.Turn> by place in `entries`
local function beginnings(entries, turns)
  local found, by_id, begun = {}, {}, {}
  for _, turn in ipairs(turns) do
    by_id[turn.turnId] = turn
  end
  for place, entry in ipairs(entries) do
    local turn = entry.kind == "user" and by_id[entry.turnId or ""]
    if turn and not begun[turn.turnId] then
      found[place], begun[turn.turnId] = turn, true
    end
  end
  local last = #entries
  for at = #turns, 1, -1 do
    local turn = turns[at]
    for place = begun[turn.turnId] and 0 or last, 1, -1 do
      local entry = entries[place]
      local named = entry.kind == "user" and turn.title ~= "" and vim.startswith(first_line(entry.text), turn.title)
      if named and not found[place] then
        found[place], last = turn, place - 1
        break
      end
    end
  end
  return found
end

---@param session loopline.SessionState
---@param entry loopline.Entry
---@param turn? string
local function append(session, entry, turn)
  if entry.kind == "assistant" then
    state.add(session, { kind = "text", text = entry.text, turn = turn })
  elseif entry.kind == "user" then
    state.add(session, { kind = "user", text = entry.text, turn = turn })
  else
    local call = entry.toolCallId ~= "" and entry.toolCallId or nil
    local item = state.add(session, {
      kind = "tool",
      name = entry.name,
      arguments = entry.arguments,
      text = entry.text,
      turn = turn,
      status = entry.text == "" and "running" or "done",
    })
    if call then
      session.tools[call], item.tool_call = item, call
    end
  end
end

---Make the session what the server says it is.
---@param store loopline.Store
---@param told loopline.Session
---@param transcript loopline.Transcript
---@param earlier? loopline.Entry[] Entries after `transcript` that are loaded already.
---@return loopline.Entry[] entries all that are loaded now
function M.load(store, told, transcript, earlier)
  local before = store.sessions[told.sessionId]
  store.sessions[told.sessionId] = nil
  local session = state.session(store, told.sessionId)
  session.title, session.model, session.hosting = told.title or "", told.model or "", told.state
  session.note = before and before.note or ""
  local entries = vim.list_extend(vim.list_slice(transcript.entries), earlier or {})
  session.first_index = entries[1] and entries[1].index
  local turns = told.turns or {}
  local begins, turn = beginnings(entries, turns), nil
  if transcript.more then
    state.add(session, { kind = "more" })
  end
  for place, entry in ipairs(entries) do
    local begun = begins[place]
    if begun then
      turn = begun.turnId
      local title = begun.title ~= "" and begun.title or first_line(entry.text)
      state.head(session, turn, title, begun.status, entry.text)
    else
      append(session, entry, turn)
    end
  end
  for _, known in ipairs(turns) do
    local running = known.status == "running" or known.status == "queued"
    if running and not session.turns[known.turnId] then
      state.head(session, known.turnId, known.title, known.status)
    end
  end
  for _, item in ipairs(session.items) do
    local of = item.turn and session.turns[item.turn]
    if item.kind == "tool" and item.status == "running" and not (of and of.status == "running") then
      item.status = "done"
    end
  end
  store.approvals = vim.tbl_filter(function(approval)
    return approval.sessionId ~= told.sessionId
  end, store.approvals)
  for _, approval in ipairs(told.approvals or {}) do
    state.open_approval(store, session, approval)
  end
  session.reset = true
  return entries
end

return M
