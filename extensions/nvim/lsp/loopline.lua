---For `vim.lsp.enable("loopline")`.
require("loopline").wire()

return require("loopline.life").config()
