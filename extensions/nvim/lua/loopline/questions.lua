---What the model asks its user: a choice or own words, one at a time, and never in the middle of typing.
---
---The server owns the questions: an answer from elsewhere closes one here as well, and answering twice is harmless.

local client = require("loopline.client")
local text = require("loopline.text")

local M = {}

local OWN = "Your own words …"

---@type string? id of the one that is asked just now
local asking
---@type table<string, boolean> which are answered or put off: not to be asked again
local settled = {}

---@param link loopline.Link
---@param id string
---@param answer? string nil: later
local function done(link, id, answer)
  asking, settled[id] = nil, true
  if answer and vim.trim(answer) ~= "" and link.store.questions[id] then
    client.exec(link, "loopline.question.answer", { questionId = id, answer = answer })
  end
  vim.schedule(function()
    M.consider(link)
  end)
end

---Ask about one now. Dismissing it leaves it open: `:Loopline answer` asks again.
---@param link loopline.Link
---@param item loopline.Item
function M.ask(link, item)
  local id, prompt = item.question_id, text.one_line(item.question or "", 300)
  asking = id
  local function own()
    vim.ui.input({ prompt = prompt .. " " }, function(answer)
      done(link, id, answer)
    end)
  end
  -- A prompt draws nothing but itself: what led to the question has to be on screen before it.
  vim.cmd.redraw()
  if #(item.options or {}) == 0 then
    own()
    return
  end
  local choices = vim.list_extend(vim.deepcopy(item.options), { OWN })
  vim.ui.select(choices, { prompt = prompt, kind = "loopline_question", format_item = text.one_line }, function(choice)
    if choice == OWN then
      own()
    else
      done(link, id, choice)
    end
  end)
end

---Ask the one that waits, if the user is not typing.
---@param link loopline.Link
---@param again? boolean also one that was put off
function M.consider(link, again)
  local mode = vim.api.nvim_get_mode()
  if asking and link.store.questions[asking] then
    return
  end
  asking = nil
  if mode.mode ~= "n" or mode.blocking then
    return
  end
  for id, item in vim.spairs(link.store.questions) do
    if again or not settled[id] then
      M.ask(link, item)
      return
    end
  end
  if again then
    client.notify("nothing is asked")
  end
end

return M
