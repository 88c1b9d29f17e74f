local hunks = require("loopline.hunks")

local function file(old, new, path)
  local head = ("--- a/%s\n+++ b/%s\n"):format(path or "f.py", path or "f.py")
  local diff = head .. vim.diff(old, new, { ctxlen = 3 })
  return { path = path or "f.py", uri = "file:///f.py", diff = diff, added = 0, removed = 0 }
end

local function lines(text)
  local found = vim.split(text, "\n", { plain = true })
  if found[#found] == "" then
    found[#found] = nil
  end
  return found
end

local function joined(list)
  return table.concat(list, "\n") .. (#list > 0 and "\n" or "")
end

test("one change", function()
  local changes, cut = hunks.parse(file("a\nb\nc\nd\ne\n", "a\nb\nC\nd\ne\n"))
  eq({ #changes, cut }, { 1, false })
  local change = changes[1]
  eq({ change.before, change.removed, change.added, change.after }, { { "a", "b" }, { "c" }, { "C" }, { "d", "e" } })
  eq(hunks.line(change), 3)
  eq(hunks.revert(change, { "a", "b", "C", "d", "e" }), { first = 3, count = 1, lines = { "c" } })
end)

test("a hunk of several changes is several", function()
  local changes = hunks.parse(file("a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n"))
  eq(#changes, 2)
  eq({ hunks.line(changes[1]), hunks.line(changes[2]) }, { 1, 5 })
end)

test("it is found where lines above came or went, and not where it was changed", function()
  local change = hunks.parse(file("1\n2\n3\nold\n5\n6\n7\n", "1\n2\n3\nnew\n5\n6\n7\n"))[1]
  eq(hunks.find(change, lines("x\nx\nx\n1\n2\n3\nnew\n5\n6\n7\n")), 7)
  eq(hunks.find(change, lines("1\n2\n3\nother\n5\n6\n7\n")), nil)
  eq(hunks.find(change, lines("2 changed\n3\nnew\n5\nchanged\n")), 3, "one line around it is enough")
  eq(hunks.find(change, lines("3\nnew\n5\nx\n3\nnew\n5\n")), nil, "as near on both sides: which one is not known")
end)

test("created and deleted files", function()
  local created = { path = "n", uri = "file:///n", diff = "--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n" }
  local deleted = { path = "n", uri = "file:///n", diff = "--- a/n\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n" }
  eq({ hunks.parse(created)[1].whole, hunks.parse(deleted)[1].whole }, { "created", "deleted" })
  eq(hunks.parse(created)[1].added, { "a", "b" })
  eq(hunks.parse(deleted)[1].removed, { "a", "b" })
end)

test("lines that look like heads of diffs are lines", function()
  local changes = hunks.parse(file("-- a\nx\n++ b\n", "-- a\ny\n++ b\n-- c\n"))
  local text = { "-- a", "y", "++ b", "-- c" }
  for at = #changes, 1, -1 do
    text = hunks.apply(text, assert(hunks.revert(changes[at], text)))
  end
  eq(text, { "-- a", "x", "++ b" })
end)

test("a diff that was cut says so and shows no half of a change", function()
  local whole = file("a\nb\nc\n", "a\nB\nc\n")
  whole.diff = whole.diff .. "@@ -10,3 +10,4 @@\n x\n+half\n"
  local changes, cut = hunks.parse(whole)
  eq({ #changes, cut }, { 1, true })
end)

test("no newline at the end of a file", function()
  local change = hunks.parse(file("a\nb", "a\nc"))[1]
  eq({ change.removed, change.added }, { { "b" }, { "c" } })
end)

test("taking all changes back gives the old text, whatever was changed and in whatever order", function()
  math.randomseed(20261130)
  local words = { "alpha", "beta", "gamma", "", "    return x", "-- y", "+++ z", "@@ -1 +1 @@", " é 😀" }
  for round = 1, 300 do
    local old, new = {}, {}
    for at = 1, math.random(0, 30) do
      old[at] = words[math.random(#words)] .. (math.random() < 0.7 and tostring(at) or "")
    end
    for _, line in ipairs(old) do
      local dice = math.random()
      if dice < 0.1 then
        new[#new + 1] = "changed " .. line
      elseif dice < 0.2 then
        new[#new + 1] = line
        new[#new + 1] = "inserted " .. round
      elseif dice > 0.1 and dice < 0.9 then
        new[#new + 1] = line
      end
    end
    local changes = hunks.parse(file(joined(old), joined(new)))
    local text, undone = new, 0
    for at = #changes, 1, -1 do
      local splice = hunks.revert(changes[at], text)
      if splice then
        text, undone = hunks.apply(text, splice), undone + 1
      end
    end
    if undone == #changes then
      eq(text, old, { round = round, new = new })
    else -- a place that could be in two is left alone, and nothing else is touched
      local ambiguous = hunks.parse(file(joined(old), joined(text)))
      eq(#ambiguous <= #changes, true, { round = round })
    end
  end
end)
