-- Numbers, states and reasons as people read them: the words of the VS Code extension (`receipts/why.ts`, `memory/labels.ts`).
local M = {}

M.NOTHING_FITS = 'nothing in the project fits this question'

local MOST_NAMES, MOST_WORDS, BAR = 3, 4, 8

--- 18445 -> "18,445".
function M.number(amount)
  local text = tostring(math.floor(amount))
  local found
  repeat
    text, found = text:gsub('^(%d+)(%d%d%d)', '%1,%2')
  until found == 0
  return text
end

--- "1 file", "18,445 files".
function M.count(amount, singular)
  return ('%s %s'):format(M.number(amount), amount == 1 and singular or singular .. 's')
end

local function listed(names, most, singular)
  local shown = table.concat(vim.list_slice(names, 1, most), ', ')
  return #names > most and ('%s and %s'):format(shown, M.count(#names - most, 'more ' .. singular)) or shown
end

local function share_of(hit, rule)
  for _, one in ipairs((hit.signals or {}).contributions or {}) do
    if one.rule == rule then
      return one.share
    end
  end
  return 0
end

local function factor_of(hit, rule)
  for _, one in ipairs((hit.signals or {}).boosts or {}) do
    if one.rule == rule then
      return one.factor
    end
  end
  return 1
end

local function unique(names)
  local seen, kept = {}, {}
  for _, name in ipairs(names) do
    if not seen[name] then
      seen[name] = true
      kept[#kept + 1] = name
    end
  end
  return kept
end

--- One sentence: what a place defines, which words it holds, how it is tied to the file in front.
--- `around`: `front`, the URI of that file, and `pinned`, a list of URIs.
function M.why(hit, around)
  if hit.attached then
    return 'You selected or attached these lines.'
  end
  local front, matched = around.front, (hit.signals or {}).matched or {}
  local symbol = hit.symbol and hit.symbol ~= '' and { hit.symbol } or {}
  local defined = unique(#(hit.definitions or {}) > 0 and hit.definitions or symbol)
  local quoted = vim.tbl_map(function(word)
    return ('“%s”'):format(word)
  end, matched)
  local parts = {}
  local function add(holds, text)
    if holds then
      parts[#parts + 1] = text
    end
  end
  add(vim.tbl_contains(around.pinned or {}, hit.uri), 'is pinned by you')
  add(share_of(hit, 'verbatim') > 0, 'holds your words in your order')
  add(#defined > 0, (hit.source == 'docs' and 'is headed ' or 'defines ') .. listed(defined, MOST_NAMES, 'name'))
  add(#matched > 0, 'holds ' .. listed(quoted, MOST_WORDS, 'word'))
  add(#matched == 0 and share_of(hit, 'meaning') > 0, 'is close to the question in meaning')
  add(hit.uri == front, 'is in the file in front of you')
  local tied = front and hit.uri ~= front and factor_of(hit, 'tied') > 1.02
  add(tied, ('uses or is used by %s, the file in front of you'):format(vim.fn.fnamemodify(vim.uri_to_fname(front or 'file:///'), ':t')))
  if #parts == 0 then
    return share_of(hit, 'combined') ~= 0 and 'Fits several parts of the question.' or 'Fits the question best by all signs together.'
  end
  local sentence = #parts > 1 and ('%s and %s'):format(table.concat(vim.list_slice(parts, 1, #parts - 1), ', '), parts[#parts]) or parts[1]
  return sentence:sub(1, 1):upper() .. sentence:sub(2) .. '.'
end

M.rules = {
  words = 'words of the question',
  meaning = 'close in meaning',
  coverage = 'holds many of the words',
  whole_file = 'the file as a whole is about it',
  path_match = 'the file is called like it',
  in_scope = 'lies in the part that is named',
  substance = 'length of the place and its file',
  name_match = 'defines what the question names',
  verbatim = 'holds its words in their order',
  path_penalty = 'tests, documents, data and the like step back',
  in_view = 'open in the editor',
  nearby = 'near the file in front',
  tied = 'tied to the file in front',
  combined = 'several searches together',
}

--- The score as a sum: "+0.31  words of the question" for each rule.
function M.sum(hit)
  return vim.tbl_map(function(one)
    return ('%s%.2f  %s'):format(one.share < 0 and '−' or '+', math.abs(one.share), M.rules[one.rule] or one.rule)
  end, (hit.signals or {}).contributions or {})
end

--- What a pack takes of its budget.
function M.spent(pack)
  if pack.budgetTokens then
    return ('%s of %s'):format(M.number(pack.tokens), M.count(pack.budgetTokens, 'token'))
  elseif pack.budgetChars then
    return ('%s of %s'):format(M.number(vim.fn.strchars(pack.text)), M.count(pack.budgetChars, 'character'))
  end
  return M.count(pack.tokens, 'token')
end

--- What went to which service, a line each.
function M.sent(items)
  return vim.tbl_map(function(one)
    local parts = { one.what, M.count(one.requests, 'request'), M.count(one.texts, 'text'), M.count(one.bytes, 'byte') }
    if (one.cost or 0) > 0 then
      parts[#parts + 1] = ('$%.4f'):format(one.cost)
    end
    return ('%s at %s: %s'):format(one.provider, one.host, table.concat(parts, ' · '))
  end, items or {})
end

--- Tell whether a run over all files was stopped, or never ended, so that only a part of the project is found.
function M.is_partial(status)
  return status.state == 'ready' and status.files > 0 and (status.complete == false or (status.unfinished or 0) > 0)
end

--- "18,445 of 50,001 files", as far as it is known how many there are.
local function part(status)
  local left = status.unfinished or 0
  if left == 0 then
    return M.count(status.files, 'file') .. ', not all'
  end
  return ('%s of %s'):format(M.number(status.files), M.count(status.files + left, 'file'))
end

--- How the index is, in a few words. `on`: whether the memory of this project is on.
function M.state(status, on)
  if status.state == 'error' then
    return 'problem'
  elseif M.is_partial(status) then
    return status.role == 'follower' and 'indexing' or part(status) .. ': resume'
  elseif status.state == 'empty' then
    return on and 'not indexed' or 'on request' -- the first question indexes it
  end
  return status.state
end

--- What is said of a run that was cancelled.
function M.cancelled(status)
  return ('cancelled, %s kept'):format(M.count(status.files, 'file'))
end

--- How far work is, from the server's "18445/50001 files".
function M.progress(message)
  local done, total, more = message:match('^(%d+)/(%d+) files(.*)$')
  if not done then
    return message ~= '' and message or 'looking for changed files'
  end
  done, total = tonumber(done), tonumber(total)
  -- To the nearest cell: rounded down, a large project would show an empty bar for long. Full only when all is done.
  local full = done < total and math.min(BAR - 1, math.floor(done * BAR / total + 0.5)) or BAR
  local bar = ('▰'):rep(full) .. ('▱'):rep(BAR - full)
  return ('%s %s of %s%s'):format(bar, M.number(done), M.count(total, 'file'), more)
end

return M
