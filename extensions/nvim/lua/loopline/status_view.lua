---The state of a link as the status line wants it. Pure but for what it is given.

local state = require("loopline.state")

local M = {}

---@param link loopline.Link
---@return loopline.StatusView
function M.of(link)
  local session = state.current(link.store)
  local turn = session and state.running(session)
  for _, other in pairs(link.store.sessions) do
    turn = turn or state.running(other)
  end
  local model = link.store.status.model
  -- "repair (no model)": what is in brackets says what the model is, if it is none
  local name, note = (model and model.text or ""):match("^(.-) %((.*)%)$")
  return {
    server = link.server,
    server_text = link.server_text,
    running = turn ~= nil,
    approvals = #link.store.approvals,
    call = turn and turn.figures,
    model = name or (session and session.model ~= "" and session.model or nil),
    model_note = note or (session and session.note),
  }
end

return M
