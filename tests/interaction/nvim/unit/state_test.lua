local events = require("loopline.events")
local history = require("loopline.history")
local state = require("loopline.state")

local function told(store, ...)
  return events.fold(store, { seq = store.seq + 1, events = { ... } })
end

local function event(kind, fields)
  return vim.tbl_extend("force", { type = kind, sessionId = "s", turnId = "t" }, fields or {})
end

local function kinds(session)
  return vim.tbl_map(function(item)
    return item.kind
  end, session.items)
end

test("a turn from its start to its end", function()
  local store = state.new()
  told(store, event("turn.started", { title = "fix it" }))
  local session = store.sessions.s
  eq(state.running(session).id, "t")
  told(store, event("text.delta", { text = "I lo" }), event("text.delta", { text = "ok." }))
  eq(session.items[2].text, "I look.")
  told(store, event("text.done", { text = "I look!" }))
  eq(session.items[2].text, "I look!", "the whole text stands for its pieces")
  told(store, event("tool.started", { toolCallId = "c", name = "read", arguments = "{}" }))
  told(store, event("tool.output", { toolCallId = "c", line = "half" }))
  eq(session.items[3].line, "half")
  told(
    store,
    event("tool.finished", { toolCallId = "c", name = "read", status = "ok", summary = "done", durationMs = 5 })
  )
  eq({ session.items[3].line, session.items[3].summary }, { nil, "done" })
  told(store, event("call", { callId = "x", number = 1, status = "running", tokensPerS = 10 }))
  told(store, event("call", { callId = "x", number = 1, status = "completed", tokensPerS = 20 }))
  eq(session.items[1].call.tokensPerS, 20)
  told(store, event("turn.finished", { status = "completed", text = "I look!", durationMs = 9 }))
  eq(kinds(session), { "turn", "text", "tool", "calls", "end" })
  eq(session.items[5].text, "", "what was said is not said twice")
  eq(session.items[1].call, nil)
  eq(#session.turns.t.calls, 1)
  eq(state.running(session), nil)
end)

test("reasoning grows, and is done with its time", function()
  local store = state.new()
  told(store, event("turn.started", { title = "x" }))
  told(store, event("reasoning.delta", { text = "look " }), event("reasoning.delta", { text = "first" }))
  local item = store.sessions.s.items[2]
  eq({ item.kind, item.text, item.status }, { "thought", "look first", "running" })
  told(store, event("reasoning.done", { text = "look first!", durationMs = 1500 }))
  eq({ item.text, item.status, item.duration_ms }, { "look first!", "done", 1500 })
  told(store, event("reasoning.delta", { text = "void" }), event("text.voided", { cause = "x" }))
  eq(store.sessions.s.items[3].text, "")
  told(store, event("reasoning.done", { durationMs = 9 }))
  eq(#store.sessions.s.items, 4, "of thoughts that are kept from us nothing is shown")
end)

test("a question waits until it is answered", function()
  local store = state.new()
  told(store, event("turn.started", { title = "x" }))
  told(store, event("question", { questionId = "q", question = "Which?", options = { "a", "b" } }))
  local item = store.sessions.s.items[2]
  eq({ item.kind, item.question, item.answer, store.questions.q == item }, { "question", "Which?", nil, true })
  told(store, event("question.answered", { questionId = "q", answer = "b" }))
  eq({ item.answer, store.questions.q }, { "b", nil })
end)

test("only what changed is dirty", function()
  local store = state.new()
  told(store, event("turn.started", { title = "x" }), event("text.delta", { text = "a" }))
  store.sessions.s.dirty = {}
  told(store, event("text.delta", { text = "b" }))
  eq(store.sessions.s.dirty, { [2] = true })
end)

test("a call that starts anew voids what it said", function()
  local store = state.new()
  told(store, event("turn.started", { title = "x" }), event("text.delta", { text = "wro" }))
  told(store, event("text.voided", { cause = "connection lost" }), event("text.delta", { text = "right" }))
  local session = store.sessions.s
  eq({ session.items[2].text, session.items[4].text }, { "", "right" })
end)

test("approvals are answered once, and void when their turn ends", function()
  local store = state.new()
  local function approval(id)
    return { approvalId = id, sessionId = "s", turnId = "t", kind = "command", name = "shell", subject = "ls" }
  end
  told(store, { type = "approval.opened", approval = approval("a") })
  told(
    store,
    { type = "approval.opened", approval = approval("a") },
    { type = "approval.opened", approval = approval("b") }
  )
  eq(#store.approvals, 2)
  told(store, event("approval.resolved", { approvalId = "a", decision = "allow" }))
  eq({ #store.approvals, store.sessions.s.items[1].decision }, { 1, "allow" })
  told(store, event("turn.finished", { status = "cancelled", text = "", durationMs = 0 }))
  eq(#store.approvals, 0)
end)

test("live figures keep what a new call can't tell yet", function()
  local store = state.new()
  told(store, event("turn.started", { title = "x" }))
  told(
    store,
    event("call", { callId = "1", number = 1, status = "completed", tokensPerS = 20, ttftMs = 9, cachedShare = 0.5 })
  )
  told(store, event("call", { callId = "2", number = 2, status = "running", tokensPerS = 30, reuse = "reused" }))
  local figures = store.sessions.s.items[1].call
  eq({ figures.tokensPerS, figures.ttftMs, figures.cachedShare, figures.reuse }, { 30, 9, 0.5, "reused" })
  eq(store.sessions.s.turns.t.calls[2].ttftMs, nil, "the table of calls does not")
end)

test("a gap is noticed, and an event of a newer version is left out", function()
  local store = state.new()
  eq(told(store, event("turn.started", { title = "x" })), true)
  eq(told(store, { type = "of.tomorrow", sessionId = "s" }), true)
  eq(events.fold(store, { seq = store.seq + 2, events = {} }), false)
end)

test("what was asked here is shown before the server tells, with all its words", function()
  local store = state.new()
  state.asked(store, { sessionId = "s", turnId = "t" }, "fix it\nwith care")
  eq(store.sessions.s.items[1].status, "queued")
  told(store, event("turn.started", { title = "fix it" }))
  eq(kinds(store.sessions.s), { "turn" })
  eq({ store.sessions.s.items[1].status, store.sessions.s.items[1].text }, { "running", "fix it\nwith care" })
end)

test("the answer to a start may come after its first events", function()
  local store = state.new()
  told(store, event("turn.started", { title = "fix it" }))
  state.asked(store, { sessionId = "s", turnId = "t" }, "fix it")
  eq({ #store.sessions.s.items, store.sessions.s.items[1].status }, { 1, "running" })
end)

test("a server that is gone interrupts what ran", function()
  local store = state.new()
  told(
    store,
    event("turn.started", { title = "x" }),
    event("tool.started", { toolCallId = "c", name = "n", arguments = "" })
  )
  state.lost(store)
  local session = store.sessions.s
  eq(kinds(session), { "turn", "tool", "end" })
  eq(
    { session.items[1].status, session.items[2].status, session.items[3].status },
    { "interrupted", "cancelled", "interrupted" }
  )
  eq({ store.seq, #store.approvals }, { 0, 0 })
end)

local function entry(kind, text, index, more)
  return vim.tbl_extend(
    "force",
    { kind = kind, text = text, index = index, name = "", arguments = "", toolCallId = "" },
    more or {}
  )
end

test("a session that is taken up again", function()
  local store = state.new()
  local transcript = {
    more = true,
    entries = {
      entry("user", "first task\nmore", 4),
      entry("assistant", "done", 5),
      entry("user", "second task", 6),
      entry("tool", "", 7, { name = "checks", toolCallId = "c" }),
    },
  }
  local session = {
    sessionId = "s",
    state = "attached",
    title = "first task",
    model = "m",
    turns = {
      { turnId = "t1", title = "first task", status = "completed" },
      { turnId = "t2", title = "second task", status = "running" },
    },
    approvals = {
      { approvalId = "a", sessionId = "s", turnId = "t2", kind = "command", name = "shell", subject = "ls" },
    },
  }
  history.load(store, session, transcript)
  local shown = store.sessions.s
  eq(kinds(shown), { "more", "turn", "text", "turn", "tool", "approval" })
  eq({ shown.first_index, state.running(shown).id, #store.approvals }, { 4, "t2", 1 })
  eq(shown.items[5].status, "running")
  told(
    store,
    event("tool.finished", { turnId = "t2", toolCallId = "c", name = "checks", status = "ok", summary = "ok" })
  )
  eq({ #shown.items, shown.items[5].summary }, { 6, "ok" }, "the same item, not another one")
end)

test("turns are told apart by id where the transcript has it", function()
  local store = state.new()
  local transcript = {
    more = false,
    entries = {
      entry("user", "again", 0, { turnId = "t1" }),
      entry("user", "steered", 1, { turnId = "t1" }),
      entry("user", "again", 2, { turnId = "t2" }),
    },
  }
  local turns =
    { { turnId = "t1", title = "", status = "completed" }, { turnId = "t2", title = "", status = "running" } }
  history.load(store, { sessionId = "s", state = "live", turns = turns }, transcript)
  eq(kinds(store.sessions.s), { "turn", "user", "turn" })
  eq(store.sessions.s.items[3].turn, "t2")
end)

test("5,000 items cost the same at the end as at the beginning", function()
  local store = state.new()
  told(store, event("turn.started", { title = "x" }))
  for number = 1, 5000 do
    told(store, event("tool.finished", { toolCallId = tostring(number), name = "n", status = "ok", summary = "s" }))
  end
  store.sessions.s.dirty = {}
  told(store, event("text.delta", { text = "b" }))
  eq(vim.tbl_count(store.sessions.s.dirty), 1)
end)

test("what comes while a session is read follows after it, and no words twice", function()
  local store = state.new()
  events.hold(store, "s")
  told(
    store,
    event("text.delta", { turnId = "t", text = "half" }),
    event("text.done", { turnId = "t", text = "half and half" })
  )
  told(store, event("text.delta", { turnId = "t", text = "next" }), event("plan", { turnId = "t", steps = {} }))
  eq(store.sessions.s, nil)
  local transcript = { more = false, entries = { entry("user", "go", 0), entry("assistant", "half and half", 1) } }
  local turns = { { turnId = "t", title = "go", status = "running" } }
  history.load(store, { sessionId = "s", state = "attached", turns = turns }, transcript)
  events.release(store, "s")
  local texts = vim.tbl_map(function(item)
    return item.text or ""
  end, store.sessions.s.items)
  eq(kinds(store.sessions.s), { "turn", "text", "text", "text", "plan" })
  eq(texts, { "go", "half and half", "", "next", "" })
  told(store, event("text.done", { turnId = "t", text = "next one" }))
  eq(store.sessions.s.items[4].text, "next one")
end)

test("figures of a turn that is over do not make it run", function()
  local store = state.new()
  told(store, event("stages", { stagesMs = {}, calls = 1, running = false }), event("diff", { files = {} }))
  told(store, event("call", { callId = "1", number = 1, status = "completed" }))
  eq(state.running(store.sessions.s), nil)
end)
