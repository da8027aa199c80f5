-- What the status line shows: `require('carrel').status()`.
local M = {}
local by_root = {}

local function entry(root)
  by_root[root] = by_root[root] or {}
  return by_root[root]
end

function M.set_status(root, status)
  entry(root).status = status
  vim.schedule(function()
    vim.cmd('redrawstatus')
  end)
end

function M.on_progress(root, _, result)
  local value = type(result) == 'table' and result.value
  if type(value) ~= 'table' then
    return
  end
  local current = entry(root)
  if value.kind == 'end' then
    current.progress = nil
  else
    current.progress = { message = value.message or value.title, percentage = value.percentage or (current.progress or {}).percentage }
  end
  vim.schedule(function()
    vim.cmd('redrawstatus')
  end)
end

--- One short text for the status line, empty when there is nothing to say.
function M.text(root)
  local current = by_root[root]
  if not current then
    return ''
  end
  if current.progress then
    local share = current.progress.percentage and (' %d%%%%'):format(current.progress.percentage) or ''
    return 'carrel: ' .. (current.progress.message or 'indexing') .. share
  end
  if current.status then
    return ('carrel: %s, %d chunks'):format(current.status.state, current.status.chunks or 0)
  end
  return ''
end

return M
