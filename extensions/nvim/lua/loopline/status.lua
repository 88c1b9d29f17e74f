---What a status line says: the state, and the figures of the running turn's latest call. Pure.

local text = require("loopline.text")

local M = {}

---@class loopline.StatusView
---@field server "off"|"starting"|"ready"|"lost"|"broken"
---@field server_text? string Why it is not ready.
---@field running boolean
---@field approvals integer How many wait.
---@field call? loopline.Call The latest call of the running turn.
---@field model? string
---@field model_note? string What it is, if it is no model.

---@class loopline.StatusPart
---@field text string
---@field hl string

---@param call? loopline.Call
---@return string figures `812 tok/s · 92 ms · 94 % ⟲`
function M.figures(call)
  call = call or {}
  local mark = text.reuse_mark(call.reuse)
  local parts = { text.rate(call.tokensPerS), text.duration(call.ttftMs), text.percent(call.cachedShare) }
  return table.concat(parts, " · ") .. (mark ~= "" and " " .. mark or "")
end

---How full the conversation is: `ctx 34 %` of what the model takes, `ctx 12,345` where that is not known.
---@param size? loopline.ContextSize
---@return string words "" while nothing is known
function M.context(size)
  if not size then
    return ""
  end
  local about = size.estimated and "~" or ""
  local used = size.windowTokens and text.percent(size.tokens / size.windowTokens) or text.number(size.tokens)
  return "ctx " .. about .. used
end

---The component in parts, each with the highlight group for it.
---@param view loopline.StatusView
---@return loopline.StatusPart[]
function M.parts(view)
  local parts = {}
  local function add(words, hl)
    parts[#parts + 1] = { text = words, hl = hl }
  end
  if view.approvals > 0 then
    local words = view.approvals > 1 and ("● %d approvals wait"):format(view.approvals) or "● approval waits"
    add(words, "LooplineApproval")
  end
  if view.server == "broken" or view.server == "lost" then
    add("loopline " .. (view.server_text or view.server), "LooplineError")
  elseif view.running then
    add("◉ " .. M.figures(view.call), "LooplineInference")
  elseif view.server == "starting" then
    add("loopline …", "LooplineQuiet")
  elseif view.model_note and view.model_note ~= "" then
    add(("%s (no model)"):format(view.model or ""), "LooplineQuiet")
  else
    add("loopline", "LooplineQuiet")
  end
  return parts
end

---@param view loopline.StatusView
---@return string plain text, nothing escaped
function M.plain(view)
  local words = {}
  for _, part in ipairs(M.parts(view)) do
    words[#words + 1] = part.text
  end
  return table.concat(words, " ")
end

---For 'statusline' and 'winbar': escaped, and coloured if wanted, with the groups for what it stands on.
---@param view loopline.StatusView
---@param coloured? "status"|"bar"
---@return string
function M.line(view, coloured)
  local words = {}
  for _, part in ipairs(M.parts(view)) do
    local shown = text.for_statusline(part.text)
    local group = coloured == "status" and part.hl:gsub("^Loopline", "LooplineStatus") or part.hl
    local plain = not coloured or part.hl == "LooplineQuiet"
    words[#words + 1] = plain and shown or ("%%#%s#%s%%*"):format(group, shown)
  end
  return table.concat(words, " ")
end

local STAGES = {
  { "inference", "inference", "LooplineInference" },
  { "client_tool", "tools", "LooplineTools" },
  { "api_overhead", "overhead", "LooplineOverhead" },
  { "approval", "approval", "LooplineApproval" },
  { "client_other", "other", "LooplineQuiet" },
}

---Where a turn's time went, as pieces of text with their highlight groups: `inference 3.90 s · tools 3.60 s`.
---@param stages_ms table<string, number>
---@return {[1]: string, [2]: string}[]
function M.stages(stages_ms)
  local chunks = {}
  for _, stage in ipairs(STAGES) do
    local ms = stages_ms[stage[1]]
    if ms and ms > 0 then
      if #chunks > 0 then
        chunks[#chunks + 1] = { " · ", "LooplineQuiet" }
      end
      chunks[#chunks + 1] = { ("%s %s"):format(stage[2], text.duration(ms)), stage[3] }
    end
  end
  return chunks
end

return M
