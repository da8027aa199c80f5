-- What the status line shows: `require('carrel').status()`.
local memory = require('carrel.memory')
local words = require('carrel.words')

local M = {}
local by_root = {} -- root -> { status, bars = { token -> text } }

local function entry(root)
  by_root[root] = by_root[root] or { bars = {} }
  return by_root[root]
end

local function redraw()
  vim.schedule(function()
    vim.cmd('redrawstatus')
  end)
end

function M.set_status(root, status)
  entry(root).status = status
  redraw()
end

--- Take a `$/progress` notification.
function M.on_progress(root, params)
  local value = type(params) == 'table' and params.value
  if type(value) ~= 'table' or params.token == nil then
    return
  end
  local bars = entry(root).bars
  if value.kind == 'end' then
    bars[params.token] = nil
  else
    bars[params.token] = value.message or bars[params.token] or ''
  end
  redraw()
end

--- What is known of a root's index.
function M.status(root)
  return by_root[root] and by_root[root].status
end

--- The tokens of the bars that are open.
function M.tokens(root)
  return by_root[root] and vim.tbl_keys(by_root[root].bars) or {}
end

--- The server of this root has gone.
function M.clear(root)
  by_root[root] = nil
  redraw()
end

--- One short text for the status line, empty when there is nothing to say. Holds no `%`, so it is safe in any of them.
function M.text(root)
  local current = by_root[root]
  if not current then
    return ''
  end
  local _, message = next(current.bars)
  if message then
    return (('Carrel: indexing, ' .. words.progress(message)):gsub('%%', ''))
  end
  return current.status and 'Carrel: ' .. words.state(current.status, memory.is_on(root)) or ''
end

return M
