local status = require("loopline.status")

local function view(changes)
  local idle = { server = "ready", running = false, approvals = 0, model = "gpt" }
  return vim.tbl_extend("force", idle, changes or {})
end

test("idle, starting, no model, lost", function()
  eq(status.plain(view()), "loopline")
  eq(status.plain(view({ server = "starting" })), "loopline …")
  eq(status.plain(view({ model = "repair", model_note = "a search" })), "repair (no model)")
  eq(
    status.plain(view({ server = "lost", server_text = "server lost, again in 2 s" })),
    "loopline server lost, again in 2 s"
  )
  eq(status.plain(view({ server = "broken" })), "loopline broken")
end)

test("figures of a running turn, the unknown as a dash", function()
  local call = { tokensPerS = 812.4, ttftMs = 92, cachedShare = 0.94, reuse = "reused" }
  eq(status.plain(view({ running = true, call = call })), "◉ 812 tok/s · 92 ms · 94 % ⟲")
  eq(status.plain(view({ running = true })), "◉ – · – · –")
end)

test("an approval that waits comes first", function()
  eq(status.plain(view({ approvals = 1 })), "● approval waits loopline")
  eq(status.plain(view({ approvals = 3, running = true })), "● 3 approvals wait ◉ – · – · –")
end)

test("a status line takes no code from a model's name", function()
  local evil = view({ model = "%{system('touch /tmp/x')}", model_note = "n" })
  eq(status.line(evil), "%%{system('touch /tmp/x')} (no model)")
  eq(status.line(view({ approvals = 1 }), "bar"), "%#LooplineApproval#● approval waits%* loopline")
  eq(status.line(view({ approvals = 1 }), "status"), "%#LooplineStatusApproval#● approval waits%* loopline")
  local result = vim.api.nvim_eval_statusline(status.line(view({ running = true, call = { cachedShare = 0.5 } })), {})
  eq(result.str, "◉ – · – · 50 %")
end)

test("stages of a turn", function()
  local words = ""
  for _, chunk in ipairs(status.stages({ inference = 3900, client_tool = 3600, api_overhead = 210, approval = 0 })) do
    words = words .. chunk[1]
  end
  eq(words, "inference 3.90 s · tools 3.60 s · overhead 210 ms")
end)
