---Unified diffs as single changes that can be found again in a text and taken back. Pure.
---
---A hunk of a diff may hold several changes; each run of `-` and `+` lines is one here, with up to three lines of what
---is around it and unchanged.

local M = {}

---@class loopline.Change
---@field path string
---@field uri string
---@field key string The same change in a later diff has the same key, wherever it is.
---@field before string[] Lines above that the turn left alone, at most three.
---@field removed string[]
---@field added string[]
---@field after string[]
---@field start integer Line of the new text, from 1, where `before` begins.
---@field whole? "created"|"deleted" The change is the whole file.
---@field by? "edit"|"command"|"both" Who changed the file; nil: an edit.

local CONTEXT = 3

---@param diff string
---@return {new: integer, lines: string[]}[] hunks
---@return boolean cut The diff ends before its last hunk does.
local function split(diff)
  local found, hunk, old_left, new_left = {}, nil, 0, 0
  for line in (diff:gsub("\n$", "") .. "\n"):gmatch("([^\n]*)\n") do
    local old_count, new, new_count = line:match("^@@ %-%d+,?(%d*) %+(%d+),?(%d*) @@")
    if old_left + new_left <= 0 and new then
      old_left = old_count == "" and 1 or tonumber(old_count) or 1
      new_left = new_count == "" and 1 or tonumber(new_count) or 1
      hunk = { new = math.max(1, tonumber(new) or 1), lines = {} }
      if new_left == 0 then
        hunk.new = (tonumber(new) or 0) + 1
      end
      found[#found + 1] = hunk
    elseif hunk and old_left + new_left > 0 then
      local sign = line:sub(1, 1)
      if sign == "+" then
        new_left = new_left - 1
      elseif sign == "-" then
        old_left = old_left - 1
      elseif sign ~= "\\" then
        old_left, new_left = old_left - 1, new_left - 1
      end
      if sign ~= "\\" then
        hunk.lines[#hunk.lines + 1] = line == "" and " " or line
      end
    end
  end
  return found, old_left + new_left > 0
end

---@param lines string[]
---@param from integer
---@param step integer
---@return string[] context at most three unchanged lines from there on, in the order of the text
local function context(lines, from, step)
  local found = {}
  local at = from
  while #found < CONTEXT and lines[at] and lines[at]:sub(1, 1) == " " do
    table.insert(found, step < 0 and 1 or #found + 1, lines[at]:sub(2))
    at = at + step
  end
  return found
end

---@param file loopline.FileDiff
---@param hunk {new: integer, lines: string[]}
---@param whole? "created"|"deleted"
---@param into loopline.Change[]
local function changes_of(file, hunk, whole, into)
  local at, new = 1, hunk.new
  while hunk.lines[at] do
    if hunk.lines[at]:sub(1, 1) == " " then
      at, new = at + 1, new + 1
    else
      local first, removed, added = at, {}, {}
      while hunk.lines[at] and hunk.lines[at]:sub(1, 1) ~= " " do
        local line = hunk.lines[at]
        table.insert(line:sub(1, 1) == "-" and removed or added, line:sub(2))
        at = at + 1
      end
      local before, after = context(hunk.lines, first - 1, -1), context(hunk.lines, at, 1)
      local parts = { file.uri, table.concat(before, "\n"), table.concat(removed, "\n"), table.concat(added, "\n") }
      into[#into + 1] = {
        path = file.path,
        uri = file.uri,
        key = table.concat(parts, "\0"),
        whole = whole,
        by = file.by,
        before = before,
        removed = removed,
        added = added,
        after = after,
        start = new - #before,
      }
      new = new + #added
    end
  end
end

---@param file loopline.FileDiff
---@return loopline.Change[]
---@return boolean cut The server sent only a part of the diff; what is missing can't be reviewed here.
function M.parse(file)
  local hunks, cut = split(file.diff)
  local head = file.diff:match("^(.-)@@ ") or ""
  local whole = head:find("\n%+%+%+ /dev/null") and "deleted" or head:find("^%-%-%- /dev/null") and "created" or nil
  if cut then
    hunks[#hunks] = nil
  end
  local found = {}
  for _, hunk in ipairs(hunks) do
    changes_of(file, hunk, whole, found)
  end
  return found, cut
end

---The first changed line in the new text, from 1.
---@param change loopline.Change
---@return integer
function M.line(change)
  return math.max(1, change.start + #change.before)
end

---@param lines string[]
---@param at integer
---@param wanted string[]
---@return boolean
local function matches(lines, at, wanted)
  for offset, line in ipairs(wanted) do
    if lines[at + offset - 1] ~= line then
      return false
    end
  end
  return at >= 1
end

---@param list string[]
---@param count integer
---@return string[]
local function last(list, count)
  return vim.list_slice(list, math.max(1, #list - count + 1), #list)
end

---Where a change is in a text: the place of its added lines nearest to where they should be.
---@param change loopline.Change
---@param lines string[]
---@return integer? place from 1; nil: it is not there any more, or could be in two places
function M.find(change, lines)
  for _, width in ipairs({ CONTEXT, 1 }) do
    local before, after = last(change.before, width), vim.list_slice(change.after, 1, width)
    local wanted = vim.list_extend(vim.list_extend(vim.list_slice(before), change.added), after)
    local expected = change.start + #change.before - #before
    local best, distance, twice
    if #wanted == 0 then
      return (#lines == 0 or (#lines == 1 and lines[1] == "")) and 1 or nil
    end
    for at = 1, #lines - #wanted + 1 do
      local away = math.abs(at - expected)
      if (not distance or away <= distance) and matches(lines, at, wanted) then
        twice = away == distance
        best, distance = at, away
      end
    end
    if best and not twice then
      return best + #before
    end
  end
  return nil
end

---@class loopline.Splice
---@field first integer From 1.
---@field count integer How many lines go.
---@field lines string[] What comes.

---How to take a change back.
---@param change loopline.Change
---@param lines string[] The text as it is now.
---@return loopline.Splice?
function M.revert(change, lines)
  local at = M.find(change, lines)
  return at and { first = at, count = #change.added, lines = change.removed } or nil
end

---@param lines string[]
---@param splice loopline.Splice
---@return string[]
function M.apply(lines, splice)
  local result = vim.list_slice(lines, 1, splice.first - 1)
  vim.list_extend(result, splice.lines)
  return vim.list_extend(result, vim.list_slice(lines, splice.first + splice.count, #lines))
end

return M
