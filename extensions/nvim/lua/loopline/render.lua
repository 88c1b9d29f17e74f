---Items as lines of a buffer, with the places of highlights. Pure: the same item gives the same lines.

local hunks = require("loopline.hunks")
local status = require("loopline.status")
local text = require("loopline.text")

local M = {}

---@class loopline.Mark
---@field line integer Of the item, from 0.
---@field from integer Byte, from 0.
---@field to integer Byte, -1: to the end.
---@field hl string

---@class loopline.Rendered
---@field lines string[]
---@field marks loopline.Mark[]
---@field fold boolean Whether all but the first line are folded.
---@field right? {[1]: string, [2]: string}[] Shown at the right edge of the first line.

local MAX_LINES = 2000
local WIDTH = 72
local SIGNS =
  { ok = "●", done = "●", running = "◌", error = "✗", denied = "✗", timeout = "✗", cancelled = "✗" }
local ENDS = { completed = "✓", failed = "✗", cancelled = "■", interrupted = "↯" }
local HEADS = { running = "▶", queued = "▷", completed = "✓", failed = "✗", interrupted = "↯" }
local END_HL = { completed = "LooplineOk", failed = "LooplineError" }
local STEPS = { done = "✓", doing = "▸" }

---@class loopline.Page: loopline.Rendered
local Page = {}
Page.__index = Page

local function page()
  return setmetatable({ lines = {}, marks = {}, fold = false }, Page)
end

---@param words string
---@param hl? string
function Page:add(words, hl)
  self.lines[#self.lines + 1] = words
  if hl and words ~= "" then
    self.marks[#self.marks + 1] = { line = #self.lines - 1, from = 0, to = -1, hl = hl }
  end
end

---@param from integer
---@param to integer
---@param hl string
function Page:mark(from, to, hl)
  self.marks[#self.marks + 1] = { line = #self.lines - 1, from = from, to = to, hl = hl }
end

---Foreign text, cleaned, with a margin.
---@param foreign string
---@param margin string
---@param hl? string
function Page:foreign(foreign, margin, hl)
  local found = text.lines(foreign)
  while #found > 0 and found[#found] == "" do
    found[#found] = nil
  end
  for at, line in ipairs(found) do
    if at > MAX_LINES then
      self:add(("%s… %s more"):format(margin, text.counted(#found - MAX_LINES, "line")), "LooplineQuiet")
      return
    end
    self:add(line == "" and vim.trim(margin) == "" and "" or margin .. line, hl)
  end
end

---@param diff string
---@param margin string
function Page:diff(diff, margin)
  for at, line in ipairs(text.lines(diff)) do
    local kind = line:match("^%-%-%- ") or line:match("^%+%+%+ ")
    if at > MAX_LINES then
      return
    elseif kind then
      self:add(margin .. line, "LooplineQuiet")
    elseif line ~= "" then
      local hl = line:sub(1, 1) == "+" and "LooplineAdded" or line:sub(1, 1) == "-" and "LooplineRemoved" or nil
      self:add(margin .. line, line:sub(1, 2) == "@@" and "LooplineQuiet" or hl)
    end
  end
end

-- What a JSON string may have escaped, but for \u.
local ESCAPED = { n = "\n", t = "\t", r = "", b = "", f = "" }

---A tool's arguments, also of a text that was cut.
---@param arguments? string JSON
---@return table<string, any>
local function decoded(arguments)
  local ok, found = pcall(vim.json.decode, arguments or "")
  if ok then
    return type(found) == "table" and found or {}
  end
  local key, value = (arguments or ""):match('^{"([%w_]+)":%s*"(.*)$')
  return key and { [key] = (value:gsub("\\(.)", function(char)
    return ESCAPED[char] or char
  end)) } or {}
end

---What a tool is used on, for its line.
---@param arguments? string JSON
---@return string
function M.subject(arguments)
  local found = decoded(arguments)
  for _, key in ipairs({ "command", "pattern", "target", "path" }) do
    if type(found[key]) == "string" and found[key] ~= "" then
      return text.one_line(found[key]:match("[^\n]*"), 60)
    end
  end
  return ""
end

---@param arguments string JSON
---@return string words for people: each argument by its name, long ones below it
local function spelled(arguments)
  local words = {}
  for key, value in vim.spairs(decoded(arguments)) do
    local shown = type(value) == "string" and value or vim.json.encode(value)
    words[#words + 1] = ("%s: %s%s"):format(key, shown:find("\n") and "\n" or "", shown)
  end
  return #words > 0 and table.concat(words, "\n") or arguments
end

---@type table<string, fun(out: loopline.Page, item: loopline.Item, width: integer)>
local OF = {}

OF.turn = function(out, item)
  local sign = HEADS[item.status] or "■"
  local title = text.one_line(item.title or "", 160)
  out:add(("%s %s"):format(sign, title == "" and "a turn" or title), "LooplineTurn")
  local rest = (item.text or ""):match("^%s*[^\n]*\n(.*)$")
  if rest then
    out:foreign(rest, "  ", "LooplineQuiet")
  end
  out.fold = #out.lines > 4
  if item.call then
    out.right = { { status.figures(item.call), "LooplineInference" } }
  elseif item.status == "queued" then
    out.right = { { "queued", "LooplineQuiet" } }
  end
end

OF.user = function(out, item)
  local fate = item.fate and (" (%s)"):format(item.fate) or ""
  local first, rest = text.clean(item.text or ""):match("^%s*([^\n]*)\n?(.*)$")
  out:add("› " .. first .. fate, "LooplineUser")
  out:foreign(rest, "  ", "LooplineUser")
  out.fold = #out.lines > 4
end

OF.text = function(out, item)
  if vim.trim(item.text or "") == "" then
    return
  end
  out:foreign(item.text, "")
end

OF.thought = function(out, item)
  if vim.trim(item.text or "") == "" then
    return
  end
  local running = item.status == "running"
  local took = item.duration_ms and " for " .. text.duration(item.duration_ms) or ""
  out:add(running and "∴ thinking" or "∴ thought" .. took, "LooplineQuiet")
  out:foreign(item.text, "  ", "LooplineQuiet")
  out.fold = not running
end

OF.tool = function(out, item, width)
  local sign, name = SIGNS[item.status] or "●", text.one_line(item.name or "tool", 24)
  local room = math.max(20, width - 24)
  local subject = M.subject(item.arguments)
  local summary = text.one_line(item.line or item.summary or "", room)
  if subject ~= "" and vim.startswith(summary, subject) then
    subject = ""
  end
  subject = text.one_line(subject, math.max(12, room - vim.api.nvim_strwidth(summary)))
  local words = { ("%s %-8s"):format(sign, name) }
  for _, part in ipairs({ subject, summary }) do
    if part ~= "" then
      words[#words + 1] = part
    end
  end
  out:add(vim.trim(table.concat(words, "  ")))
  local bad = sign == "✗"
  out:mark(0, #sign, bad and "LooplineError" or item.status == "running" and "LooplineQuiet" or "LooplineTools")
  out:mark(#sign + 1, #sign + 1 + #name, "LooplineTool")
  if item.duration_ms then
    out.right = { { text.duration(item.duration_ms), "LooplineQuiet" } }
  end
  if item.diff and item.diff ~= "" then
    out:diff(item.diff, "  │ ")
  else
    if item.arguments and item.arguments ~= "" and item.arguments ~= "{}" then
      out:foreign(spelled(item.arguments), "  │ ", "LooplineQuiet")
    end
    if item.text and item.text ~= "" then
      out:add("  ├", "LooplineQuiet")
      out:foreign(item.text, "  │ ")
    end
  end
  out.fold = #out.lines > 1
end

OF.plan = function(out, item)
  out:add("plan", "LooplineTool")
  for _, step in ipairs(item.steps or {}) do
    local sign = STEPS[step.status] or "·"
    out:add(("  %s %s"):format(sign, text.one_line(step.text, 160)), sign == "✓" and "LooplineQuiet" or nil)
  end
end

OF.notice = function(out, item)
  local hl = item.severity == "error" and "LooplineError" or item.severity == "warning" and "LooplineWarning"
  out:foreign((item.severity == "info" and "· " or "! ") .. (item.text or ""), "", hl or "LooplineQuiet")
end

OF.approval = function(out, item, width)
  local asked = item.approval or {}
  local name, subject = text.one_line(asked.name or "", 40), text.visible(asked.subject or "")
  local function what(limit)
    local shown = text.one_line(subject, limit)
    return shown == name and name or name .. " " .. shown
  end
  if item.decision then
    out:add(("◆ %s: %s"):format(text.one_line(item.decision, 20), what(math.max(20, width - 24))), "LooplineQuiet")
  else
    out:add("◆ waits for you: " .. what(300), "LooplineApproval")
    if asked.rule then
      out:add("  " .. text.one_line(asked.rule, 200), "LooplineQuiet")
    end
  end
end

OF.question = function(out, item)
  local waits = item.answer == nil
  out:add((waits and "◆ asks you: " or "◆ asked: ") .. text.one_line(item.question or "", 300), "LooplineApproval")
  for _, option in ipairs(waits and item.options or {}) do
    out:add("  · " .. text.one_line(option, 200), "LooplineQuiet")
  end
  if not waits then
    out:add("  " .. (item.answer == "" and "no answer" or text.one_line(item.answer, 300)), "LooplineQuiet")
  end
end

OF.diff = function(out, item)
  local added, removed, files = 0, 0, item.files or {}
  for _, file in ipairs(files) do
    added, removed = added + file.added, removed + file.removed
  end
  if #files == 0 then
    out:add("± no change is left", "LooplineQuiet")
    return
  end
  out:add(("± %s, +%d -%d"):format(text.counted(#files, "file"), added, removed), "LooplineTool")
  for _, file in ipairs(files) do
    local name = text.one_line(file.path, 200) .. M.by(file)
    out:add(("  %s  +%d -%d"):format(name, file.added, file.removed))
    local at = 2 + #name + 2
    out:mark(at, at + #tostring(file.added) + 1, "LooplineAdded")
    out:mark(at + #tostring(file.added) + 2, -1, "LooplineRemoved")
  end
end

local WIDTHS = { 4, 8, 8, 9, 15, 7 }

---@param cells string[] Numbers to the right; the last one, in words, as it is.
---@return string
local function row(cells)
  local shown = {}
  for at, cell in ipairs(cells) do
    local missing = WIDTHS[at] and WIDTHS[at] - vim.api.nvim_strwidth(cell) or 0
    shown[at] = (" "):rep(math.max(0, missing)) .. cell
  end
  return "  " .. table.concat(shown, "  ")
end

OF.calls = function(out, item)
  local reused, full = 0, 0
  for _, call in ipairs(item.calls or {}) do
    reused = reused + (call.reuse == "reused" and 1 or 0)
    full = full + ((call.reuse ~= "reused" and call.reuse ~= "first") and 1 or 0)
  end
  out:add(("%s · ⟲ %d · ↑ %d"):format(text.counted(#item.calls, "call"), reused, full), "LooplineQuiet")
  out:add(row({ "call", "ttft", "tok/s", "in", "cached", "out", "chain" }), "LooplineTool")
  for _, call in ipairs(item.calls) do
    local rate = text.rate(call.tokensPerS):gsub(" tok/s", "")
    out:add(row({
      tostring(call.number),
      text.duration(call.ttftMs),
      rate,
      text.number(call.inputTokens),
      text.cached(call.cachedTokens, call.cachedShare),
      text.number(call.outputTokens),
      text.reuse(call.reuse),
    }))
  end
  out.fold = true
end

OF["end"] = function(out, item)
  if item.text and vim.trim(item.text) ~= "" then
    out:foreign(item.text, "", item.status ~= "completed" and END_HL[item.status] or nil)
  end
  local took = item.duration_ms and item.duration_ms > 0 and " in " .. text.duration(item.duration_ms) or ""
  out:add(("%s %s%s"):format(ENDS[item.status] or "■", item.status, took), END_HL[item.status] or "LooplineWarning")
  local stages = item.stages_ms and status.stages(item.stages_ms) or {}
  if #stages > 0 then
    local line = "  = "
    local marks = {}
    for _, chunk in ipairs(stages) do
      marks[#marks + 1] = { #line, #line + #chunk[1], chunk[2] }
      line = line .. chunk[1]
    end
    out:add(line)
    for _, mark in ipairs(marks) do
      out:mark(mark[1], mark[2], mark[3])
    end
  end
  out:add("")
end

OF.undone = function(out, item)
  local restored, left = item.restored or {}, item.conflicts or {}
  if #restored > 0 then
    out:add("↶ took back " .. text.one_line(table.concat(restored, ", ")), "LooplineOk")
  end
  if #left > 0 then
    out:add("! left what changed since: " .. text.one_line(table.concat(left, ", ")), "LooplineWarning")
  end
  if #restored + #left == 0 then
    out:add("↶ there was nothing to take back", "LooplineQuiet")
  end
  out:add("")
end

OF.more = function(out)
  out:add("… earlier (press <CR>)", "LooplineQuiet")
end

---@param item loopline.Item
---@param width? integer Columns that the first line of what is folded should fit in.
---@return loopline.Rendered
function M.item(item, width)
  local out = page()
  OF[item.kind](out, item, width or WIDTH)
  return out
end

---One hunk for review: a line that names it, then its text.
local BY = { command = " (by a command)", both = " (in part by a command)" }

---Who changed a file, in words; nothing where the agent edited it.
---@param file {by?: string}
---@return string
function M.by(file)
  return BY[file.by] or ""
end

---@param change loopline.Change
---@param mark string What was decided.
---@param hl string
---@return loopline.Rendered
function M.change(change, mark, hl)
  local out = page()
  out:add(("@@ %s:%d%s %s"):format(text.one_line(change.path, 160), hunks.line(change), M.by(change), mark))
  out:mark(0, -1, hl)
  local function block(lines, sign, group)
    for _, line in ipairs(lines) do
      out:add(sign .. text.clean(line), group)
    end
  end
  block(change.before, " ", nil)
  block(change.removed, "-", "LooplineRemoved")
  block(change.added, "+", "LooplineAdded")
  block(change.after, " ", nil)
  return out
end

return M
