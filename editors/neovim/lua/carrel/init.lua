-- Carrel for Neovim: `require('carrel').setup()` and the functions that other plugins may call.
local M = {}

--- Set options and, unless `autostart` is off, start the server with the first file of a project.
function M.setup(options)
  local config = require('carrel.config').set(options)
  local group = vim.api.nvim_create_augroup('carrel', { clear = true })
  if config.autostart then
    vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, {
      group = group,
      callback = function(event)
        require('carrel.client').attach(event.buf)
      end,
    })
  end
end

--- For status lines: progress while indexing, else state and size of the index.
function M.status()
  local root = require('carrel.client').root(vim.api.nvim_buf_get_name(0))
  return require('carrel.progress').text(root)
end

--- For chat plugins: `use(pack)` gets the packed context of a question (`pack.text`, `pack.hits`, `pack.tokens`).
function M.context(question, use)
  require('carrel.commands').context(question, use)
end

return M
