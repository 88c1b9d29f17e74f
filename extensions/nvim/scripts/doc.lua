---Writes doc/loopline.txt; with `--check` it only says whether that is up to date. Run with `nvim -l`.

local here = vim.fs.dirname(vim.fs.dirname(vim.fs.abspath(arg[0])))
vim.opt.rtp:prepend(here)

local path = vim.fs.joinpath(here, "doc", "loopline.txt")
local text = require("loopline.doc").text()

if vim.list_contains(arg, "--check") then
  local file = io.open(path, "r")
  local kept = file and file:read("*a")
  if kept ~= text then
    io.stderr:write("doc/loopline.txt is stale: run `nvim -l scripts/doc.lua`\n")
    os.exit(1)
  end
else
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end
