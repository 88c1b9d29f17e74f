if vim.g.loaded_loopline then
  return
end
vim.g.loaded_loopline = true

if vim.fn.has("nvim-0.11") == 0 then
  vim.api.nvim_create_user_command("Loopline", function()
    vim.notify("Loopline needs Neovim 0.11 or newer", vim.log.levels.ERROR)
  end, { nargs = "*", range = true, bang = true })
  return
end

vim.api.nvim_create_user_command("Loopline", function(command)
  require("loopline").wire()
  require("loopline.commands").command(command)
end, {
  nargs = "*",
  range = true,
  bang = true,
  desc = "Loopline, the coding agent",
  complete = function(lead, line)
    return require("loopline.commands").complete(lead, line)
  end,
})
