-- The receipt of the last context: what became of it, each place with the reason in a sentence, what was left out and what went
-- where. Places can be opened, pinned, excluded and taken in again, and the question repeated.
local view = require('carrel.view')
local words = require('carrel.words')

local M = {}
local LEFT_OUT = 'left out of this question' -- the server's reason for what the person left out, which is listed by itself
local last -- { pack, params, root, outcome }

--- Remember a pack, the parameters that gave it, and the project that was asked.
function M.keep(pack, params, root)
  last = { pack = pack, params = params, root = root, outcome = 'shown to you, not sent' }
end

--- Note what became of the last question: `sent to CopilotChat`, `not sent: you declined`.
function M.become(outcome)
  if last then
    last.outcome = outcome
  end
end

--- The last pack, or nil.
function M.last()
  return last and last.pack
end

local function has(list, item)
  return vim.tbl_contains(list or {}, item)
end

-- What the sentence about a place can name beside the place itself.
local function around(params)
  return { front = params.active and params.active.uri, pinned = params.pinned }
end

local function lines_of(place)
  return place.startLine == place.endLine and tostring(place.startLine) or ('%d-%d'):format(place.startLine, place.endLine)
end

-- A place in one line: where, how well it fits, and why it was chosen.
local function about(hit, params)
  local notes = {
    ('%s:%s'):format(hit.path, lines_of(hit)),
    hit.attached and 'chosen by you' or ('%.2f'):format(hit.score),
  }
  if (hit.masked or 0) > 0 then
    notes[#notes + 1] = words.count(hit.masked, 'secret') .. ' hidden'
  end
  notes[#notes + 1] = words.why(hit, around(params))
  return table.concat(notes, ' · ')
end

-- Why a place was chosen, and how its score adds up.
local function reasons(hit, params)
  local found, parts = { words.why(hit, around(params)) }, words.sum(hit)
  if not hit.attached and #parts > 0 then
    vim.list_extend(found, { '', ('How the score adds up: %.2f'):format(hit.score) })
    vim.list_extend(found, parts)
  end
  return found
end

-- The path of a file as the server writes it.
local function within(root, uri)
  local path = vim.uri_to_fname(uri)
  return vim.startswith(path, root .. '/') and path:sub(#root + 2) or path
end

-- The lines of a receipt, and what each stands for: a hit, lines that were left out, or the glob of a file that was.
local function render(pack, params, root, outcome)
  local lines, items = {}, {}
  local function add(text, item)
    for _, line in ipairs(vim.split(text, '\n', { plain = true })) do
      lines[#lines + 1] = line
      items[#lines] = item
    end
  end
  add('# ' .. pack.query)
  add('')
  add(outcome)
  if pack.rewritten then
    add('Searched for: ' .. pack.rewritten)
  end
  if pack.error then
    add('Problem: ' .. pack.error)
  end
  add(('Budget: %s, %s, %.0f ms'):format(words.spent(pack), words.count(#pack.hits, 'place'), pack.elapsedMs))
  if pack.state ~= 'ready' or (pack.pending or 0) > 0 then
    add(('The index was not complete: %s, %s waiting'):format(pack.state, words.count(pack.pending or 0, 'file')))
  end
  local sent = words.sent(pack.sent)
  add('Sent while searching: ' .. (#sent == 0 and 'nothing, it ran on this machine' or table.concat(sent, '; ')))
  if pack.confidence then
    add(('Confidence: %.2f that the project holds anything relevant at all'):format(pack.confidence))
  end
  for _, route in ipairs(pack.routes or {}) do
    add(('Searched: %s, %s'):format(route.source, route.reason))
  end
  if #(pack.notSearched or {}) > 0 then
    add(('Not searched: %s: nothing in the question speaks for it'):format(table.concat(pack.notSearched, ', ')))
  end
  add('')
  add('<CR> opens, K shows how the score adds up, p pins the file, x excludes the place, X its file, r repeats, q closes')
  add('')
  for _, hit in ipairs(pack.hits) do
    add('- ' .. about(hit, params), { hit = hit })
  end
  if #pack.hits == 0 then
    add('No place of the project goes with this question')
  end
  local removed, globs = params.excludeLines or {}, params.exclude or {}
  if #removed + #globs > 0 then
    add('')
    add('## Excluded by you (x takes it in again)')
    for _, place in ipairs(removed) do
      add(('- %s:%s'):format(within(root, place.uri), lines_of(place)), { removed = place })
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
      add(('- %s: %s'):format((item.startLine or 0) > 0 and item.path .. ':' .. lines_of(item) or item.path, item.reason))
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
  local lines, items = render(last.pack, params, root, last.outcome)
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
      view.hover(reasons(item.hit, params))
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
