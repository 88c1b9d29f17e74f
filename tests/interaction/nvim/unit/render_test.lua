local render = require("loopline.render")

local function lines(item)
  return render.item(item).lines
end

test("a tool is one line until it is opened", function()
  local item = { kind = "tool", name = "checks", status = "ok", summary = "3 failed, 21 passed", duration_ms = 410 }
  item.arguments = '{"target":"tests/test_x.py"}'
  local shown = render.item(item)
  eq(shown.lines[1], "● checks    tests/test_x.py  3 failed, 21 passed")
  eq(shown.fold, true)
  eq(shown.right, { { "410 ms", "LooplineQuiet" } })
  eq(lines({ kind = "tool", name = "list", status = "ok", arguments = "{}" }), { "● list" })
end)

test("arguments in words, also of a text that was cut", function()
  local item = { kind = "tool", name = "shell", status = "running", arguments = '{"command": "make \\"x\\"\\nls -l' }
  eq(lines(item), { '◌ shell     make "x"', "  │ command: ", '  │ make "x"', "  │ ls -l" })
  eq(render.subject("not json"), "")
  eq(render.subject("[1]"), "")
end)

test("a diff is shown with its colours", function()
  local item = { kind = "tool", name = "edit", status = "ok", diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n" }
  local shown = render.item(item)
  eq(shown.lines, { "● edit", "  │ --- a/x", "  │ +++ b/x", "  │ @@ -1 +1 @@", "  │ -old", "  │ +new" })
  local colours = {}
  for _, mark in ipairs(shown.marks) do
    colours[mark.line] = mark.hl
  end
  eq({ colours[4], colours[5] }, { "LooplineRemoved", "LooplineAdded" })
end)

test("a model's words are text", function()
  local evil = "<img src=x onerror=alert(1)>\27[2J\27]52;c;eA==\7![x](http://evil/x.png)\0"
  eq(lines({ kind = "text", text = evil }), { "<img src=x onerror=alert(1)>![x](http://evil/x.png)" })
end)

test("every kind of item gives whole lines, whatever is in its text", function()
  local evil = "a\nb\r\nc\0\27[1m\226\128\168" .. ("x"):rep(500)
  local items = {
    { kind = "turn", title = evil, text = evil, status = "running", call = { reuse = evil } },
    { kind = "user", text = evil, fate = "steered" },
    { kind = "text", text = evil },
    { kind = "tool", name = evil, arguments = evil, summary = evil, line = evil, diff = evil, status = evil },
    { kind = "tool", name = evil, arguments = "{}", text = evil, status = "done" },
    { kind = "plan", steps = { { text = evil, status = "done" } } },
    { kind = "notice", text = evil, severity = "error" },
    { kind = "approval", approval = { name = evil, subject = evil, rule = evil, kind = "command" } },
    { kind = "approval", decision = "deny", approval = { name = evil, subject = evil } },
    { kind = "diff", files = { { path = evil, uri = "u", added = 1, removed = 2, diff = "" } } },
    { kind = "calls", calls = { { number = 1, reuse = evil } } },
    { kind = "end", status = "failed", text = evil, duration_ms = 3, stages_ms = { inference = 2 } },
    { kind = "undone", restored = { evil }, conflicts = { evil } },
    { kind = "more" },
  }
  for _, item in ipairs(items) do
    local shown = render.item(item)
    for _, line in ipairs(shown.lines) do
      eq(line:find("[%z\n\r\27]"), nil, { item.kind, line })
    end
    for _, mark in ipairs(shown.marks) do
      eq(shown.lines[mark.line + 1] ~= nil, true, { item.kind, mark })
    end
    eq(render.item(item), shown, "the same item, the same lines")
  end
end)

test("numbers to the right, words to the left", function()
  local call = { number = 2, ttftMs = 92, tokensPerS = 812, inputTokens = 2702, cachedTokens = 2351, reuse = "reused" }
  call.cachedShare, call.outputTokens = 0.87, 38
  local shown = lines({ kind = "calls", calls = { { number = 1 }, call } })
  eq(shown[1], "2 calls · ⟲ 1 · ↑ 1")
  eq(shown[4], "     2     92 ms       812      2,702     2,351 (87 %)       38  ⟲ reused")
  local widths = vim.tbl_map(vim.api.nvim_strwidth, { shown[2]:match("^(.*)  chain"), shown[4]:match("^(.*)  ⟲") })
  eq(widths[1], widths[2])
end)
