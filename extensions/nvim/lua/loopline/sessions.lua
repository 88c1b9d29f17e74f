---Which session is on show: new ones, earlier ones, and the one that still runs when Neovim comes back.

local client = require("loopline.client")
local config = require("loopline.config")
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

---Take a session up: what it is now, its transcript, and what comes of it.
---@param link loopline.Link
---@param id string
---@param done? fun()
---@param failed? fun(words: string)
function M.resume(link, id, done, failed)
  client.exec(link, "loopline.session.resume", { sessionId = id }, function(told)
    client.request(link, "loopline/transcript", { sessionId = id, limit = PAGE }, function(transcript)
      link.transcripts[id] = history.load(link.store, told, transcript)
      link.store.current = id
      client.tell("changed", link)
      if done then
        done()
      end
    end, failed)
  end, failed)
end

---The page before what is loaded of the session on show.
---@param link loopline.Link
function M.earlier(link)
  local session = state.current(link.store)
  if not session or not session.first_index then
    return
  end
  client.exec(link, "loopline.session.resume", { sessionId = session.id }, function(told)
    local asked = { sessionId = session.id, before = session.first_index, limit = PAGE }
    client.request(link, "loopline/transcript", asked, function(transcript)
      link.transcripts[session.id] = history.load(link.store, told, transcript, link.transcripts[session.id])
      client.tell("changed", link)
    end)
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
