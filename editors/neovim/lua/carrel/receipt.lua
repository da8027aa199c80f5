-- The receipt of the last context: what is put in front of a question, why, and what was left out. Places can be opened, pinned,
-- left out and taken in again, and the question repeated.
local view = require('carrel.view')

local M = {}
local LEFT_OUT = 'left out of this question' -- the server's reason for what the person left out, which is listed by itself
local last -- { pack, params, root }

--- Remember a pack, the parameters that gave it, and the project that was asked.
function M.keep(pack, params, root)
  last = { pack = pack, params = params, root = root }
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

-- Why a place was picked: how the searches ranked it, and which rules spoke for it.
local function reasons(hit)
  local signals, found = hit.signals or {}, {}
  local function add(name, value, rank)
    if value then
      found[#found + 1] = ('%s: %.3f%s'):format(name, value, rank and (', place %d'):format(rank) or '')
    end
  end
  add('by meaning', signals.dense, signals.denseRank)
  add('by words', signals.lexical, signals.lexicalRank)
  add('ranked again', signals.rerank)
  for _, list in ipairs({ { 'matched words', signals.matched }, { 'defines', hit.definitions } }) do
    if #(list[2] or {}) > 0 then
      found[#found + 1] = list[1] .. ': ' .. table.concat(list[2], ', ')
    end
  end
  for _, boost in ipairs(signals.boosts or {}) do
    add('rule ' .. boost.rule, boost.factor)
  end
  return found
end

-- The path of a file as the server writes it.
local function within(root, uri)
  local path = vim.uri_to_fname(uri)
  return vim.startswith(path, root .. '/') and path:sub(#root + 2) or path
end

-- The lines of a receipt, and what each stands for: a hit, lines that were left out, or the glob of a file that was.
local function render(pack, params, root)
  local lines, items = {}, {}
  local function add(text, item)
    for _, line in ipairs(vim.split(text, '\n', { plain = true })) do
      lines[#lines + 1] = line
      items[#lines] = item
    end
  end
  add('# What Carrel gives for: ' .. pack.query)
  add('')
  add(('%s, %d places, %.0f ms, index %s'):format(budget(pack), #pack.hits, pack.elapsedMs, pack.state))
  if pack.confidence then
    add(('confidence %.2f that there is anything relevant'):format(pack.confidence))
  end
  add('<CR> opens, K says why, p pins the file, x leaves out the place, X its file, r repeats the question, q closes')
  if pack.error then
    add('Problem: ' .. pack.error)
  end
  add('')
  for _, hit in ipairs(pack.hits) do
    add(('- %s%s%s'):format(view.label(hit), why(hit), has(params.pinned, hit.uri) and '  pinned' or ''), { hit = hit })
  end
  local removed, globs = params.excludeLines or {}, params.exclude or {}
  if #removed + #globs > 0 then
    add('')
    add('## Left out by you (x takes it in again)')
    for _, place in ipairs(removed) do
      add(('- %s:%d-%d'):format(within(root, place.uri), place.startLine, place.endLine), { removed = place })
    end
    for _, glob in ipairs(globs) do
      add('- ' .. glob, { glob = glob })
    end
  end
  local dropped = vim.tbl_filter(function(item)
    return item.reason ~= LEFT_OUT
  end, pack.dropped)
  if #dropped > 0 then
    add('')
    add('## Left out')
    for _, item in ipairs(dropped) do
      add(('- %s:%d-%d: %s'):format(item.path, item.startLine, item.endLine, item.reason))
    end
  end
  add('')
  add('## Text')
  add('')
  add(pack.text)
  return lines, items
end

local function without(list, item)
  return vim.tbl_filter(function(other)
    return other ~= item
  end, list or {})
end

local function with(list, item)
  return vim.list_extend({ item }, list or {})
end

-- A glob that means this one path: nothing in its name is special, and it stands at the project's root.
local function literal(path)
  local name = path:gsub('[%*%?%[%]{},\\]', '[%0]')
  -- The server takes a pattern without a slash as a name that may be anywhere.
  return path:find('/', 1, true) and name or ('{%s,%s/}'):format(name, name)
end

-- What each key makes of the request, for what the line under the cursor stands for; nil where there is nothing to do.
local changes = {
  p = function(params, item)
    local uri = item.hit and item.hit.uri
    return uri and { pinned = has(params.pinned, uri) and without(params.pinned, uri) or with(params.pinned, uri) }
  end,
  x = function(params, item)
    if item.hit then
      local place = { uri = item.hit.uri, startLine = item.hit.startLine, endLine = item.hit.endLine }
      return { excludeLines = with(params.excludeLines, place) }
    elseif item.removed then
      return { excludeLines = without(params.excludeLines, item.removed) }
    end
    return item.glob and { exclude = without(params.exclude, item.glob) }
  end,
  X = function(params, item)
    return item.hit and { exclude = with(params.exclude, literal(item.hit.path)) }
  end,
  r = function()
    return {}
  end,
}

--- Show the last pack. `ask(root, request, use)` asks again.
function M.show(ask)
  if not last then
    return
  end
  local params, root = last.params, last.root
  local lines, items = render(last.pack, params, root)
  local buffer = view.show('receipt', lines)

  local function on(key, action)
    vim.keymap.set('n', key, function()
      action(items[vim.api.nvim_win_get_cursor(0)[1]] or {})
    end, { buffer = buffer, nowait = true, silent = true })
  end
  for key, change in pairs(changes) do
    on(key, function(item)
      local changed = change(params, item)
      if changed then
        ask(root, vim.tbl_extend('force', params, changed), function()
          if vim.api.nvim_buf_is_valid(buffer) then
            M.show(ask)
          end
        end)
      end
    end)
  end
  on('K', function(item)
    if item.hit then
      view.hover(reasons(item.hit))
    end
  end)
  on('<CR>', function(item)
    if item.hit then
      vim.cmd('wincmd p')
      view.open(item.hit)
    end
  end)
end

return M
