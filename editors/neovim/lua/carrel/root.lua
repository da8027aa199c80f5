-- Which project a file or buffer belongs to.
local config = require('carrel.config')
local lsp = require('carrel.lsp')

local M = {}

--- The nearest folder from `folder` upwards that holds one of the root markers, or nil.
function M.above(folder)
  local current = folder
  while current and current ~= '' do
    for _, marker in ipairs(config.current.root_markers) do
      if lsp.stat((current:gsub('/$', '')) .. '/' .. marker) then
        return current
      end
    end
    local parent = vim.fn.fnamemodify(current, ':h')
    if parent == current then
      return nil
    end
    current = parent
  end
end

--- The path of a buffer that shows a file; nil for terminals, chats, help and the like.
function M.file(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  if name == '' or vim.bo[buffer].buftype ~= '' or name:match('^%a[%w+.-]+://') then
    return nil
  end
  return vim.fn.fnamemodify(name, ':p')
end

--- The project of a buffer's file, or nil if it is in none.
function M.of(buffer)
  local path = M.file(buffer)
  return path and M.above(vim.fn.fnamemodify(path, ':h'))
end

--- The project that a command means: the current file's, else the current folder's.
function M.current()
  local folder = vim.fn.getcwd()
  return M.of(vim.api.nvim_get_current_buf()) or M.above(folder) or folder
end

return M
