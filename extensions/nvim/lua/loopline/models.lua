---Choosing a model, keeping a key, trusting a folder, opening the dashboard.

local client = require("loopline.client")
local text = require("loopline.text")

local M = {}

---@type table<string, string[]> names by folder, for completion
M.known = {}

---@param link loopline.Link
---@param name? string
function M.choose(link, name)
  local function chosen(model)
    client.exec(link, "loopline.model.select", { model = model }, function(answer)
      client.notify("new turns use " .. text.one_line(answer.model, 80))
    end)
  end
  if name then
    chosen(name)
    return
  end
  client.exec(link, "loopline.model.select", {}, function(answer)
    local found = answer.models or {}
    M.known[link.root] = vim.tbl_map(function(model)
      return model.id
    end, found)
    if #found == 0 then
      client.notify(
        ("the service does not say which models it has; `:Loopline model NAME` takes one. Now: %s"):format(
          text.one_line(answer.model, 80)
        )
      )
      return
    end
    local shown = { prompt = "Model", kind = "loopline_model" }
    shown.format_item = function(model)
      local can = vim.tbl_keys(vim.tbl_filter(function(able)
        return able
      end, model.capabilities or {}))
      table.sort(can)
      local what = #can > 0 and ("  (%s)"):format(table.concat(can, ", ")) or ""
      return text.one_line(model.id, 80) .. what .. (model.id == answer.model and "  ← now" or "")
    end
    vim.ui.select(found, shown, function(model)
      if model then
        chosen(model.id)
      end
    end)
  end)
end

---Ask for a key and hand it to the server. It is in no history, no setting and, whatever its level, no log.
---@param link loopline.Link
---@param provider? string
function M.set_key(link, provider)
  provider = provider or "openai"
  vim.fn.inputsave()
  local ok, key = pcall(vim.fn.inputsecret, ("Key of %s (empty: leave it as it is): "):format(provider))
  vim.fn.inputrestore()
  if not ok or key == "" then
    return
  end
  M.send_key(link, provider, key)
end

---@param link loopline.Link
---@param provider string
---@param key string "" takes the key away.
function M.send_key(link, provider, key)
  local level = vim.lsp.log.get_level()
  vim.lsp.log.set_level(vim.log.levels.OFF)
  client.request(link, "loopline/auth.set", { provider = provider, key = key }, function(answer)
    for _, one in ipairs(answer.providers or {}) do
      if one.provider == provider then
        local where = one.present and "kept in the " .. one.where or "removed"
        client.notify(("the key of %s is %s"):format(provider, where))
      end
    end
  end)
  vim.lsp.log.set_level(level)
end

---@param link loopline.Link
---@param folder? string
function M.trust(link, folder)
  folder = vim.fs.normalize(folder and vim.fn.fnamemodify(folder, ":p") or link.root)
  local prompt = (
    "Trust %s? It may then configure and start things by itself: its settings, MCP servers, hooks and "
    .. "virtual environment."
  ):format(folder)
  vim.ui.select({ "No", "Yes, trust it" }, { prompt = prompt, kind = "loopline_trust" }, function(choice)
    if choice == "Yes, trust it" then
      client.exec(link, "loopline.trust", { uri = vim.uri_from_fname(folder) }, function()
        client.notify(folder .. " is trusted")
      end)
    end
  end)
end

---@param link loopline.Link
function M.dashboard(link)
  client.exec(link, "loopline.dashboard.open", {}, function(answer)
    if answer.state == "starting" then
      client.notify("the dashboard starts")
    end
  end)
end

return M
