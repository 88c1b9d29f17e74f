---Keys of the plugin's own buffers: their definition, from which the help page is made too. Nothing is mapped outside.

local M = {}

---@class loopline.Key
---@field keys string[]
---@field words string
---@field run fun()

---@param name string
---@param ... any
local function command(name, ...)
  local arguments = { ... }
  return function()
    require("loopline.commands").run(name, arguments)
  end
end

---@type loopline.Key[]
M.SESSION = {
  {
    keys = { "<CR>" },
    words = "Act on what is under the cursor: open or close a fold, answer an approval, review a diff, load what "
      .. "came before.",
    run = function()
      require("loopline.act").act()
    end,
  },
  { keys = { "i", "a", "o" }, words = "Write to the agent.", run = command("compose") },
  { keys = { "r" }, words = "Review the changes of the session.", run = command("review") },
  {
    keys = { "u" },
    words = "Take back the turn under the cursor.",
    run = function()
      require("loopline.act").undo()
    end,
  },
  { keys = { "<C-c>" }, words = "Stop the turn that runs.", run = command("cancel") },
  {
    keys = { "]]" },
    words = "Next turn.",
    run = function()
      require("loopline.view").jump(1)
    end,
  },
  {
    keys = { "[[" },
    words = "Previous turn.",
    run = function()
      require("loopline.view").jump(-1)
    end,
  },
  { keys = { "q" }, words = "Close the window; the session goes on.", run = command("close") },
  {
    keys = { "g?" },
    words = "Help.",
    run = function()
      vim.cmd.help("loopline-keys")
    end,
  },
}

---@param name string
local function review(name)
  return function()
    require("loopline.review")[name]()
  end
end

---@type loopline.Key[]
M.REVIEW = {
  { keys = { "]h" }, words = "Next change.", run = review("next") },
  { keys = { "[h" }, words = "Previous change.", run = review("previous") },
  { keys = { "a" }, words = "Accept the change under the cursor.", run = review("accept") },
  { keys = { "x" }, words = "Reject it: the file gets its old text back.", run = review("reject") },
  { keys = { "A" }, words = "Accept all that is not decided.", run = review("accept_all") },
  { keys = { "X" }, words = "Reject all that is not decided.", run = review("reject_all") },
  { keys = { "<CR>" }, words = "Go to the change in its file.", run = review("visit") },
  { keys = { "q" }, words = "Close.", run = review("close") },
}

---@type loopline.Key[]
M.COMPOSER = {
  {
    keys = { "<CR>" },
    words = "Send (Normal mode). Writing the buffer sends too.",
    run = function()
      require("loopline.composer").send()
    end,
  },
  {
    keys = { "<C-s>" },
    words = "Send (Insert mode as well).",
    run = function()
      require("loopline.composer").send()
    end,
  },
  {
    keys = { "q" },
    words = "Close; what is written stays.",
    run = function()
      require("loopline.composer").close()
    end,
  },
}

---@param buf integer
---@param list loopline.Key[]
local function map(buf, list)
  for _, key in ipairs(list) do
    for _, lhs in ipairs(key.keys) do
      vim.keymap.set("n", lhs, key.run, { buffer = buf, nowait = true, desc = "Loopline: " .. key.words })
    end
  end
end

---@param buf integer
function M.session(buf)
  map(buf, M.SESSION)
end

---@param buf integer
function M.review(buf)
  map(buf, M.REVIEW)
end

---@param buf integer
function M.composer(buf)
  map(buf, M.COMPOSER)
  vim.keymap.set("i", "<C-s>", function()
    require("loopline.composer").send()
  end, { buffer = buf, desc = "Loopline: send" })
end

return M
