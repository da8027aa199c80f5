-- The receipt of the last context: what is put in front of a question, why, and what was left out. Places can be opened, pinned or
-- left out, and the question repeated.
local view = require('carrel.view')

local M = {}
local last -- { pack, asked }

--- Remember a pack and the request that gave it.
function M.keep(pack, asked)
  last = { pack = pack, asked = asked }
end

--- The last pack, or nil.
function M.last()
  return last and last.pack
end

local function has(list, item)
  return vim.tbl_contains(list or {}, item)
end

local function budget(pack)
  if pack.budgetTokens then
    return ('%d of %d tokens'):format(pack.tokens, pack.budgetTokens)
  end
  local length = vim.fn.strchars(pack.text)
  return pack.budgetChars and ('%d of %d characters, %d tokens'):format(length, pack.budgetChars, pack.tokens) or (pack.tokens .. ' tokens')
end

local function why(hit)
  local matched = (hit.signals or {}).matched or {}
  return #matched > 0 and ('  (%s)'):format(table.concat(matched, ', ')) or ''
end

-- The lines of a pack, and which hit each of them shows.
local function render(pack, asked)
  local lines, hits = {}, {}
  local function add(text, hit)
    for _, line in ipairs(vim.split(text, '\n', { plain = true })) do
      lines[#lines + 1] = line
      hits[#lines] = hit
    end
  end
  add('# What Carrel gives for: ' .. pack.query)
  add('')
  add(('%s, %d places, %.0f ms, index %s'):format(budget(pack), #pack.hits, pack.elapsedMs, pack.state))
  add('<CR> opens, p pins, x leaves out, r repeats the question, q closes')
  if pack.error then
    add('Problem: ' .. pack.error)
  end
  add('')
  for _, hit in ipairs(pack.hits) do
    add(('- %s%s%s'):format(view.label(hit), why(hit), has(asked.pinned, hit.uri) and '  pinned' or ''), hit)
  end
  if #pack.dropped > 0 then
    add('')
    add('## Left out')
    for _, item in ipairs(pack.dropped) do
      add(('- %s:%d-%d: %s'):format(item.path, item.startLine, item.endLine, item.reason))
    end
  end
  add('')
  add('## Text')
  add('')
  add(pack.text)
  return lines, hits
end

local function toggled(list, item)
  if not has(list, item) then
    return vim.list_extend({ item }, list or {})
  end
  return vim.tbl_filter(function(other)
    return other ~= item
  end, list)
end

-- Glob characters in a file's name mean themselves.
local function glob(path)
  return '/' .. path:gsub('[%*%?%[%]{}\\]', '\\%0')
end

--- Show the last pack. `repeat_with(question, use, options)` asks again.
function M.show(repeat_with)
  if not last then
    return
  end
  local pack, asked = last.pack, last.asked
  local lines, hits = render(pack, asked)
  local buffer = view.show('receipt', lines)

  local function on(key, action)
    vim.keymap.set('n', key, function()
      action(hits[vim.api.nvim_win_get_cursor(0)[1]])
    end, { buffer = buffer, nowait = true, silent = true })
  end
  local function again(changes)
    local request = vim.tbl_extend('force', asked, changes)
    repeat_with(request.query, function()
      if vim.api.nvim_buf_is_valid(buffer) then
        M.show(repeat_with)
      end
    end, request)
  end
  on('<CR>', function(hit)
    if hit then
      vim.cmd('wincmd p')
      view.open(hit)
    end
  end)
  on('p', function(hit)
    if hit then
      again({ pinned = toggled(asked.pinned, hit.uri) })
    end
  end)
  on('x', function(hit)
    if hit then
      again({ exclude = toggled(asked.exclude, glob(hit.path)) })
    end
  end)
  on('r', function()
    again({})
  end)
end

return M
