---Questions of turns to the user, one at a time, and never in the middle of typing.
---
---The server owns them: an answer from elsewhere closes one here as well, and answering twice is harmless.

local client = require("loopline.client")
local config = require("loopline.config")
local text = require("loopline.text")

local M = {}

local MAX_SHOWN = 800

---@type {link: loopline.Link, id: string}? the one that is asked just now
local asking
---@type table<string, boolean> which were announced, and which are answered or put off: not to be asked again
local told, settled = {}, {}
---@type table<string, boolean> long ones that were shown whole
local seen = {}

---@class loopline.Choice
---@field words string
---@field decision? "allow"|"always"|"deny" nil: later
---@field whole? boolean Shows all of it first.

---@param approval loopline.Approval
---@return boolean
local function is_long(approval)
  return #text.visible(approval.subject) > MAX_SHOWN
end

---What may be answered: what the question has to shorten can be allowed only once it was shown whole.
---@param approval loopline.Approval
---@return loopline.Choice[]
function M.choices(approval)
  local found = {}
  if is_long(approval) then
    found[1] = { words = "Show all of it", whole = true }
  end
  if not is_long(approval) or seen[approval.approvalId] then
    found[#found + 1] = { words = "Allow", decision = "allow" }
    if approval.always ~= false then
      found[#found + 1] = { words = "Always allow", decision = "always" }
    end
  end
  vim.list_extend(found, { { words = "Deny", decision = "deny" }, { words = "Decide later" } })
  return found
end

---@param approval loopline.Approval
---@return string
function M.words(approval)
  local subject = text.visible(approval.subject)
  if #subject > MAX_SHOWN then
    subject = ("%s … (%s bytes)"):format(vim.fn.strcharpart(subject, 0, MAX_SHOWN), text.number(#subject))
  end
  local what = approval.kind == "command" and "run" or "use"
  local rule = approval.rule and (" [%s]"):format(text.one_line(approval.rule, 200)) or ""
  local name = text.one_line(approval.name, 80)
  local on = (subject == "" or subject == name) and "" or ": " .. subject
  return ("Loopline wants to %s %s%s%s"):format(what, name, on, rule)
end

---@param link loopline.Link
---@param id string
local function open(link, id)
  for _, approval in ipairs(link.store.approvals) do
    if approval.approvalId == id then
      return approval
    end
  end
end

---@param link loopline.Link
---@param id string
---@param decision "allow"|"always"|"deny"
function M.answer(link, id, decision)
  settled[id] = true
  client.exec(link, "loopline.approval.answer", { approvalId = id, decision = decision }, nil, function(words)
    settled[id] = nil
    client.notify(words, vim.log.levels.ERROR)
  end)
end

---All of what is asked, in a window of its own.
---@param approval loopline.Approval
local function show_whole(approval)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].buftype, vim.bo[buf].swapfile, vim.bo[buf].modeline = "nofile", false, false
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(text.visible(approval.subject), "\n", { plain = true }))
  vim.bo[buf].modifiable, vim.bo[buf].bufhidden = false, "wipe"
  local win = vim.api.nvim_open_win(buf, true, { win = -1, split = "below", height = 15 })
  vim.wo[win][0].wrap = true
  seen[approval.approvalId], settled[approval.approvalId] = true, true
  client.notify("this is all of it; `:Loopline approve` answers it")
end

---Ask about one now. Dismissing the question denies it.
---@param link loopline.Link
---@param approval loopline.Approval
function M.ask(link, approval)
  asking = { link = link, id = approval.approvalId }
  local shown = { prompt = M.words(approval), kind = "loopline_approval" }
  shown.format_item = function(choice)
    return choice.words
  end
  -- A prompt draws nothing but itself: what led to the question has to be on screen before it.
  vim.cmd.redraw()
  vim.ui.select(M.choices(approval), shown, function(choice)
    if asking and asking.id == approval.approvalId then
      asking = nil
    end
    if not open(link, approval.approvalId) then
      client.notify("that was answered elsewhere, or is void")
    elseif choice and choice.whole then
      show_whole(approval)
    elseif choice and not choice.decision then
      settled[approval.approvalId] = true
    else
      M.answer(link, approval.approvalId, choice and choice.decision or "deny")
    end
    vim.schedule(function()
      M.consider(link)
    end)
  end)
end

---@return boolean whether a question would not swallow what the user types
local function free()
  local mode = vim.api.nvim_get_mode()
  return mode.mode == "n" and not mode.blocking and vim.fn.getcmdwintype() == ""
end

---Ask about the oldest that waits, if that is wanted and the user is not typing.
---@param link loopline.Link
function M.consider(link)
  local waiting = link.store.approvals
  if asking and not open(asking.link, asking.id) then
    asking = nil -- answered elsewhere; whether its window closes is up to whoever shows it
  end
  if #waiting == 0 or asking then
    return
  end
  for _, approval in ipairs(waiting) do
    local id = approval.approvalId
    if not settled[id] then
      if config.get().approvals == "prompt" and free() then
        M.ask(link, approval)
        return
      elseif not told[id] then
        told[id] = true
        client.notify("an approval waits; `:Loopline approve` answers it", vim.log.levels.WARN)
      end
    end
  end
end

---@param link loopline.Link
function M.next(link)
  local approval = link.store.approvals[1]
  if approval then
    M.ask(link, approval)
  else
    client.notify("no approval waits")
  end
end

function M.setup()
  vim.api.nvim_create_autocmd("ModeChanged", {
    group = vim.api.nvim_create_augroup("loopline.approvals", {}),
    pattern = "*:n",
    callback = function()
      vim.schedule(function()
        for _, link in pairs(client.links) do
          M.consider(link)
        end
      end)
    end,
  })
end

return M
