---Which session is on show: new ones, earlier ones, and the one that still runs when Neovim comes back.

local client = require("loopline.client")
local config = require("loopline.config")
local events = require("loopline.events")
local history = require("loopline.history")
local state = require("loopline.state")
local text = require("loopline.text")

local M = {}

local PAGE = 200

---@param root string
---@return string file that remembers which session was on show in a folder
local function memory(root)
  local folder = vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "loopline")
  return vim.fs.joinpath(folder, vim.fn.sha256(root):sub(1, 32))
end

---@param link loopline.Link
local function remember(link)
  local id = link.store.current
  if id and config.get().attach == "own" and link.remembered ~= id then
    link.remembered = id
    local file = memory(link.root)
    pcall(vim.fn.mkdir, vim.fs.dirname(file), "p", "0700")
    pcall(vim.fn.writefile, { id }, file)
  end
end

---@param root string
---@return string?
local function remembered(root)
  local ok, lines = pcall(vim.fn.readfile, memory(root), "", 1)
  return ok and lines[1] or nil
end

---Read a session anew: what it is now, and a page of its transcript. Events that come meanwhile follow after it.
---@param link loopline.Link
---@param id string
---@param page table What of the transcript.
---@param later? loopline.Entry[] What of it is loaded already.
---@param done fun()
---@param failed? fun(words: string)
local function read(link, id, page, later, done, failed)
  events.hold(link.store, id)
  local function fail(words)
    events.release(link.store, id)
    if failed then
      failed(words)
    else
      client.notify(words, vim.log.levels.ERROR)
    end
  end
  client.exec(link, "loopline.session.resume", { sessionId = id }, function(told)
    client.request(link, "loopline/transcript", page, function(transcript)
      link.transcripts[id] = history.load(link.store, told, transcript, later)
      events.release(link.store, id)
      done()
      client.tell("changed", link)
    end, fail)
  end, fail)
end

---Take a session up, and show what comes of it.
---@param link loopline.Link
---@param id string
---@param done? fun()
---@param failed? fun(words: string)
function M.resume(link, id, done, failed)
  read(link, id, { sessionId = id, limit = PAGE }, nil, function()
    link.store.current = id
    if done then
      done()
    end
  end, failed)
end

---The page before what is loaded of the session on show.
---@param link loopline.Link
function M.earlier(link)
  local session = state.current(link.store)
  if session and session.first_index then
    local page = { sessionId = session.id, before = session.first_index, limit = PAGE }
    read(link, session.id, page, link.transcripts[session.id], function() end)
  end
end

---Fetch what a tool put out, which events do not carry.
---@param link loopline.Link
---@param session loopline.SessionState
---@param item loopline.Item
function M.output(link, session, item)
  client.request(link, "loopline/transcript", { sessionId = session.id, limit = PAGE }, function(transcript)
    for _, entry in ipairs(transcript.entries) do
      if entry.toolCallId == item.tool_call and entry.text ~= "" then
        item.text = entry.text
        state.touch(session, item)
        client.tell("changed", link)
      end
    end
  end)
end

---@param link loopline.Link
---@param done? fun()
function M.new(link, done)
  client.exec(link, "loopline.session.new", {}, function(started)
    state.session(link.store, started.sessionId)
    link.store.current = started.sessionId
    client.tell("changed", link)
    if done then
      done()
    end
  end)
end

---@param session loopline.Session
---@return string
local function line_of(session)
  local title = text.one_line(session.title ~= "" and session.title or "(untitled)", 60)
  local running = vim.iter(session.turns or {}):any(function(turn)
    return turn.status == "running" or turn.status == "queued"
  end)
  local waiting = session.approvals and #session.approvals > 0 and ", an approval waits" or ""
  local when = (session.created or ""):gsub("T", " "):sub(1, 16)
  return ("%s  %s  (%s%s%s)"):format(when, title, session.state, running and ", running" or "", waiting)
end

---@param link loopline.Link
function M.choose(link)
  client.exec(link, "loopline.session.list", {}, function(listed)
    local found = listed.sessions or {}
    if #found == 0 then
      client.notify("no session yet")
      return
    end
    vim.ui.select(found, { prompt = "Session", kind = "loopline_session", format_item = line_of }, function(chosen)
      if chosen then
        M.resume(link, chosen.sessionId, function()
          require("loopline.window").open(link, { focus = true })
        end)
      end
    end)
  end)
end

---After the server is ready: the session that was on show, if it still is alive somewhere.
---@param link loopline.Link
local function ready(link)
  local shown = link.store.current
  if shown then -- the server was restarted under us
    M.resume(link, shown, nil, function()
      link.store.sessions[shown], link.store.current = nil, nil -- nothing of it was kept: no turn began
    end)
    return
  end
  local id = config.get().attach == "own" and remembered(link.root)
  if not id then
    return
  end
  client.exec(link, "loopline.session.list", {}, function(listed)
    for _, session in ipairs(listed.sessions or {}) do
      if
        session.sessionId == id
        and (session.state == "elsewhere" or session.state == "live")
        and not link.store.current
      then
        M.resume(link, id, function()
          local turn = require("loopline.turns").running(link)
          if turn then
            client.notify(("still runs: %s"):format(text.one_line(turn.title, 60)))
          end
        end)
      end
    end
  end, function() end)
end

---@param link loopline.Link
local function gap(link)
  if link.store.current and not link.refetching then
    link.refetching = true
    local function over()
      link.refetching = false
    end
    M.resume(link, link.store.current, over, over)
  end
end

function M.setup()
  client.on("ready", ready)
  client.on("gap", gap)
  client.on("changed", remember)
end

return M
