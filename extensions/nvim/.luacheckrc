std = "luajit"
read_globals = { "vim" }
globals = { "vim.g", "vim.b", "vim.bo", "vim.wo", "vim.o", "vim.opt", "vim.v", "vim.notify", "vim.ui" }
max_line_length = 120
exclude_files = { "lua/loopline/protocol.lua" }
