---What the server sends and asks, each handed to the module that owns it; and its commands that are ours to run.

local M = {}

---@param ctx lsp.HandlerContext
---@return loopline.Link?
local function link_of(ctx)
  return require("loopline.client").of_client(ctx.client_id)
end

---@type table<string, lsp.Handler>
M.handlers = {
  ["$/loopline/event"] = function(_, params, ctx)
    local link = link_of(ctx)
    if not link then
      return
    end
    local client = require("loopline.client")
    local whole = require("loopline.events").fold(link.store, params)
    client.tell("events", link, params.events)
    client.tell("changed", link)
    if not whole then
      client.tell("gap", link)
    end
  end,
  -- The option `server` alone: settings of `vim.lsp.config()` may have been merged with a project's.
  ["workspace/configuration"] = function(_, params)
    return vim
      .iter(params.items)
      :map(function(item)
        return item.section == "loopline" and require("loopline.config").get().server or vim.NIL
      end)
      :totable()
  end,
  ["loopline/saveDocuments"] = function(_, params)
    return { saved = require("loopline.saves").save_all(params.uris) }
  end,
}

---@type table<string, fun(command: lsp.Command, ctx: lsp.HandlerContext)>
M.commands = {
  ["loopline.turn.start"] = function(command, ctx)
    local link = link_of(ctx)
    if link then
      require("loopline.turns").start(link, (command.arguments or {})[1] or {})
    end
  end,
  ["loopline.ask"] = function(command, ctx)
    local link = link_of(ctx)
    if link then
      require("loopline.composer").open(link, (command.arguments or {})[1])
    end
  end,
  ["loopline.model.select"] = function(_, ctx)
    local link = link_of(ctx)
    if link then
      require("loopline.models").choose(link)
    end
  end,
}

return M
