---What keys do with the item under the cursor of a session.

local view = require("loopline.view")

local M = {}

function M.act()
  local item, shown = view.here()
  if not item or not shown then
    return
  end
  if item.kind == "more" then
    require("loopline.sessions").earlier(shown.link)
  elseif item.kind == "approval" and not item.decision then
    require("loopline.approvals").ask(shown.link, item.approval)
  elseif item.kind == "diff" then
    require("loopline.review").open(shown.link)
  elseif vim.fn.foldlevel(".") > 0 then
    local untold = item.kind == "tool" and item.status ~= "running" and item.tool_call and not item.text
    if untold and (item.diff or "") == "" then
      item.text = ""
      require("loopline.sessions").output(shown.link, shown.link.store.sessions[shown.session], item)
    end
    vim.cmd("normal! za")
  end
end

function M.undo()
  local item, shown = view.here()
  if not item or not shown or not item.turn then
    return
  end
  local turn = shown.link.store.sessions[shown.session].turns[item.turn]
  local title = require("loopline.text").one_line(turn and turn.title or "", 60)
  vim.ui.select({ "No", "Yes" }, { prompt = ("Take back what “%s” did to files?"):format(title) }, function(choice)
    if choice == "Yes" then
      require("loopline.turns").undo(shown.link, item.turn)
    end
  end)
end

return M
