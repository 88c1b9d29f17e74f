---Runs the test files named as arguments; `-l` of Neovim gives the interpreter. Exit code 1 if a test fails.

local root = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.abspath(arg[0]))))))
vim.opt.rtp:prepend(vim.fs.joinpath(root, "extensions", "nvim"))

local failed, passed = 0, 0

---@param name string
---@param body fun()
function _G.test(name, body)
  local ok, problem = xpcall(body, debug.traceback)
  passed = passed + (ok and 1 or 0)
  if not ok then
    failed = failed + 1
    io.stderr:write(("FAILED %s\n%s\n"):format(name, problem))
  end
end

---@param got any
---@param wanted any
---@param about? any
function _G.eq(got, wanted, about)
  if not vim.deep_equal(got, wanted) then
    error(("got    %s\nwanted %s\nabout  %s"):format(vim.inspect(got), vim.inspect(wanted), vim.inspect(about)), 2)
  end
end

for _, file in ipairs(arg) do
  assert(loadfile(file))()
end
io.stdout:write(("%d passed, %d failed\n"):format(passed, failed))
os.exit(failed == 0 and passed > 0 and 0 or 1)
