local config = require("loopline.config")

test("nothing is needed", function()
  local found, problems = config.resolve({})
  eq(problems, {})
  eq(found.cmd, { "loopline", "lsp", "--stdio" })
  for _, option in ipairs(config.OPTIONS) do
    eq(found[option.name], option.default)
  end
end)

test("what is wrong is said and left out", function()
  local found, problems =
    config.resolve({ width = "wide", window = "above", cmd = {}, approvals = "notify", colour = 1 })
  eq({ found.width, found.window, found.approvals, #found.cmd }, { 72, "right", "notify", 3 })
  eq(#problems, 4)
  eq(problems[#problems], "`colour` is not an option")
end)

test("setup wins over the global, and defaults are not shared", function()
  vim.g.loopline = { width = 50, height = 9 }
  eq(config.set({ width = 60 }), {})
  eq({ config.get().width, config.get().height }, { 60, 9 })
  config.get().cmd[1] = "changed"
  eq(config.get().cmd[1], "loopline")
  vim.g.loopline = nil
  config.set()
end)

test("every option is told in the help page, and so is every command", function()
  local text = require("loopline.doc").text()
  for _, option in ipairs(config.OPTIONS) do
    eq(text:find(("*loopline-option-%s*"):format(option.name), 1, true) ~= nil, true, option.name)
  end
  for _, one in ipairs(require("loopline.commands").LIST) do
    eq(text:find(("*:Loopline-%s*"):format(one.name), 1, true) ~= nil, true, one.name)
  end
end)

test("diagnostics are told in the client's units", function()
  local found = require("loopline.findings").converted({
    { lnum = 0, col = 2, end_lnum = 0, end_col = 6, message = "m", severity = 1, source = "s" },
  }, function()
    return "é😀x"
  end, "utf-16")
  eq({ found[1].range.start.character, found[1].range["end"].character }, { 1, 3 })
end)
