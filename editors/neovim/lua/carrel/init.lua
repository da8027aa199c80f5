-- Carrel for Neovim: `require('carrel').setup()` and the functions that other plugins may call.
local M = {}

--- Set options and, unless `autostart` is off, start the server with the first file of a project.
function M.setup(options)
  local config = require('carrel.config').set(options)
  local group = vim.api.nvim_create_augroup('carrel', { clear = true })
  if not config.autostart then
    return
  end
  local function attach(buffer)
    require('carrel.server').attach(buffer)
  end
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, {
    group = group,
    callback = function(event)
      attach(event.buf)
    end,
  })
  -- A plugin manager may call this after the first files were opened.
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) then
      attach(buffer)
    end
  end
end

--- For status lines: progress while indexing, else the state of the index.
function M.status()
  return require('carrel.progress').text(require('carrel.root').current())
end

--- For chat plugins: `use(pack)` gets the packed context of a question (`pack.text`, `pack.hits`, `pack.tokens`).
--- `options` are further fields of `carrel/context`, as `budget`, `topK` or `pinned`. Always called once: a chat goes on with an
--- empty pack, and its `error`, when Carrel can't answer.
function M.context(question, use, options)
  require('carrel.commands').context(question, use, options, function(err)
    use({ id = '', query = question, text = '', tokens = 0, hits = {}, dropped = {}, error = err })
  end)
end

--- For CopilotChat.nvim's setup: `functions = { carrel = require('carrel').copilotchat() }`.
function M.copilotchat()
  return require('carrel.chat').copilotchat_function()
end

--- End every server; the next command starts anew.
function M.stop()
  require('carrel.server').stop_all()
end

return M
