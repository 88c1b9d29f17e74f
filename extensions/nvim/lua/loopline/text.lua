---Numbers and foreign text as people read them. Pure.
---
---Every number comes with its unit; what is not known is `–`, never 0. Text from models, tools and files goes through
---`clean`, `lines` or `one_line` before it reaches a buffer or a message, and through `for_statusline` where Neovim
---would expand `%`.

local M = {}

M.UNKNOWN = "–"

-- Marks that turn the direction of text around, that look like line ends or have no width, as UTF-8.
local MARKS = {
  "\194\173", -- U+00AD
  "\216\156", -- U+061C
  "\225\160\142", -- U+180E
  "\226\128[\139\142\143]", -- U+200B, U+200E, U+200F
  "\226\128[\168-\174]", -- U+2028 to U+202E
  "\226\129[\160-\175]", -- U+2060 to U+206F
  "\239\187\191", -- U+FEFF
  "\239\191[\185-\187]", -- U+FFF9 to U+FFFB
  "\243\160[\128\129][\128-\191]", -- U+E0000 to U+E007F
}
local ESCAPES = {
  "\27%[[0-?]*[ -/]*[@-~]?", -- CSI
  "\27[%]P_^X][^\7\27]*[\7\27]?\\?", -- OSC, DCS, APC, PM, SOS, to their end
  "\27[ -/]*[0-~]?",
}

---Without escape sequences, control characters and direction marks; newlines and tabs stay.
---@param text string
---@return string
function M.clean(text)
  text = text:gsub("\r\n", "\n")
  if text:find("[%z\1-\8\11-\31\127\194\216\225\226\239\243]") then
    for _, escape in ipairs(ESCAPES) do
      text = text:gsub(escape, "")
    end
    text = text:gsub("[%z\1-\8\11-\31\127]", ""):gsub("\194[\128-\159]", "")
    for _, mark in ipairs(MARKS) do
      text = text:gsub(mark, "")
    end
  end
  return text
end

---With control characters spelled out (`\x1b`): for what a person is asked to allow, where leaving something out would
---hide it. Newlines stay.
---@param text string
---@return string
function M.visible(text)
  local function spelled(char)
    return ("\\x%02x"):format(char:byte())
  end
  local function bytes(chars)
    return (chars:gsub(".", spelled))
  end
  text = text:gsub("\r\n", "\n"):gsub("[%z\1-\9\11-\31\127]", spelled):gsub("\194[\128-\159]", bytes)
  for _, mark in ipairs(MARKS) do
    text = text:gsub(mark, bytes)
  end
  return (text:gsub("\226\128[\140\141]", bytes))
end

---@param text string
---@return string[] lines cleaned; an empty text has one empty line
function M.lines(text)
  return vim.split(M.clean(text), "\n", { plain = true })
end

---Cleaned and on one line, at most `limit` characters with an ellipsis for the rest.
---@param text string
---@param limit? integer
---@return string
function M.one_line(text, limit)
  limit = limit or 400
  local line = vim.trim((M.clean(text:sub(1, 4 * limit + 64)):gsub("%s+", " ")))
  if vim.fn.strchars(line) <= limit then
    return line
  end
  return vim.fn.strcharpart(line, 0, math.max(0, limit - 1)) .. "…"
end

---For 'statusline' and 'winbar', which expand `%`.
---@param text string
---@return string
function M.for_statusline(text)
  return (M.one_line(text):gsub("%%", "%%%%"))
end

---@param count number
---@return string
local function grouped(count)
  local digits = ("%.0f"):format(count)
  while true do
    local changed, times = digits:gsub("^(-?%d+)(%d%d%d)", "%1,%2")
    if times == 0 then
      return digits
    end
    digits = changed
  end
end

---A count with thousands separated: `12,310`.
---@param count? number
---@return string
function M.number(count)
  return count and grouped(count) or M.UNKNOWN
end

---`4.1 ms` below ten, `410 ms` below a second, `6.20 s` below a minute, then `3 min 07 s` and `2 h 05 min`.
---@param ms? number
---@return string
function M.duration(ms)
  if not ms then
    return M.UNKNOWN
  elseif ms < 9.95 then
    return ms == 0 and "0 ms" or ("%.1f ms"):format(ms)
  elseif ms < 999.5 then
    return ("%.0f ms"):format(ms)
  elseif ms < 59995 then
    return ("%.2f s"):format(ms / 1000)
  end
  local seconds = math.floor(ms / 1000 + 0.5)
  if seconds < 3600 then
    return ("%d min %02d s"):format(math.floor(seconds / 60), seconds % 60)
  end
  local minutes = math.floor(seconds / 60 + 0.5)
  return ("%d h %02d min"):format(math.floor(minutes / 60), minutes % 60)
end

---A share of 1 as a whole percentage: `94 %`. Only all of it is 100 %, only none of it 0 %.
---@param share? number
---@return string
function M.percent(share)
  if not share then
    return M.UNKNOWN
  elseif share >= 0.995 and share < 1 then
    return "99 %"
  elseif share > 0 and share < 0.005 then
    return "<1 %"
  end
  return ("%.0f %%"):format(share * 100)
end

---`812 tok/s`, `9.4 tok/s` below ten.
---@param tokens_per_s? number
---@return string
function M.rate(tokens_per_s)
  if not tokens_per_s then
    return M.UNKNOWN
  elseif tokens_per_s > 0 and tokens_per_s < 9.95 then
    return ("%.1f tok/s"):format(tokens_per_s)
  end
  return grouped(tokens_per_s) .. " tok/s"
end

---Cached input tokens and their share: `2,351 (87 %)`; without a share the count alone.
---@param tokens? number
---@param share? number
---@return string
function M.cached(tokens, share)
  if not tokens then
    return M.UNKNOWN
  end
  return share and ("%s (%s)"):format(grouped(tokens), M.percent(share)) or grouped(tokens)
end

local REUSE = {
  first = "first",
  reused = "⟲ reused",
  full_resend = "↑ full",
  not_found = "↑ not found",
  evicted = "↑ evicted",
  rotated = "↑ rotated",
  reconnected = "↯ reconnected",
}

---How a call reused what the service knows, with its mark.
---@param reuse? string
---@return string
function M.reuse(reuse)
  return not reuse and M.UNKNOWN or REUSE[reuse] or M.one_line(reuse, 24)
end

---The mark alone; "" for a first call and for what is not known.
---@param reuse? string
---@return string
function M.reuse_mark(reuse)
  local word = REUSE[reuse or ""] or ""
  return word:match("^([\194-\244][\128-\191]*) ") or ""
end

---A count with its noun: `1 file`, `3 files`.
---@param count integer
---@param noun string
---@return string
function M.counted(count, noun)
  return ("%s %s%s"):format(grouped(count), noun, count == 1 and "" or "s")
end

return M
