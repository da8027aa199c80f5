-- Scratch windows and pickers: the only place that draws.
local memory = require('carrel.memory')
local words = require('carrel.words')

local M = {}

--- Replace the lines of a scratch buffer; the window that shows it needn't be the current one.
function M.fill(buffer, lines)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].modified = false
end

--- Show lines in a scratch split that `q` closes; the window of the same title is used again.
function M.show(title, lines)
  local name = 'carrel://' .. title
  local buffer = vim.fn.bufnr(('^%s$'):format(name))
  local window = buffer > 0 and vim.fn.win_findbuf(buffer)[1] -- in any tab page
  if window then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd('botright new')
    buffer = vim.api.nvim_get_current_buf()
    vim.bo[buffer].buftype = 'nofile'
    vim.bo[buffer].bufhidden = 'wipe'
    vim.bo[buffer].swapfile = false
    vim.api.nvim_buf_set_name(buffer, name)
    vim.keymap.set('n', 'q', '<cmd>close<cr>', { buffer = buffer, nowait = true, silent = true })
    vim.bo[buffer].filetype = 'markdown'
  end
  M.fill(buffer, lines)
  return buffer
end

--- Show lines beside the cursor, until it moves.
function M.hover(lines)
  vim.lsp.util.open_floating_preview(lines, 'plaintext', { focus_id = 'carrel' })
end

--- Open a hit's file at its first line.
function M.open(hit)
  if hit.notLocal then
    vim.notify("carrel: this place is in a repository that isn't on this machine", vim.log.levels.INFO)
    return
  end
  vim.cmd('edit ' .. vim.fn.fnameescape(vim.uri_to_fname(hit.uri)))
  vim.api.nvim_win_set_cursor(0, { math.min(hit.startLine, vim.api.nvim_buf_line_count(0)), 0 })
end

--- A hit in one line.
function M.label(hit)
  local symbol = hit.symbol and hit.symbol ~= '' and ('  ' .. hit.symbol) or ''
  return ('%.2f  %s:%d-%d%s'):format(hit.score, hit.path, hit.startLine, hit.endLine, symbol)
end

--- Let the user choose a hit (vim.ui.select, so Telescope, fzf-lua and others take part) and open it.
function M.pick(hits)
  vim.ui.select(hits, { prompt = 'Carrel', kind = 'carrel', format_item = M.label }, function(hit)
    if hit then
      M.open(hit)
    end
  end)
end

local function plain(text)
  return (tostring(text):gsub('[\r\n]+', ' '))
end

--- A `carrel/status` for people.
function M.status_lines(status)
  local root = vim.uri_to_fname(status.workspaceFolder)
  local lines = {
    '# Carrel',
    '',
    'Folder:  ' .. root,
    'State:   ' .. words.state(status, true) .. (status.error and (' (' .. plain(status.error) .. ')') or ''),
    'Memory:  ' .. (memory.is_on(root) and 'on' or 'off (`:Carrel on` keeps this project indexed)'),
    ('Files:   %s in %s, %s waiting'):format(words.number(status.files), words.count(status.chunks, 'piece'), words.number(status.pending)),
    ('Size:    %.1f MB'):format(status.bytes / 1e6),
    'Model:   ' .. (status.model.id ~= '' and status.model.id or 'not loaded yet'),
    'Store:   ' .. (status.store ~= '' and status.store or 'none yet'),
  }
  local function add(line)
    lines[#lines + 1] = line
  end
  for _, problem in ipairs(status.problems or {}) do
    add('Problem: ' .. plain(problem))
  end
  local names = vim.tbl_keys(status.languages or {})
  table.sort(names)
  if #names > 0 then
    add('')
    add('## Languages')
    for _, name in ipairs(names) do
      add(('- %s: %d files'):format(name, status.languages[name]))
    end
  end
  if (status.maskedSecrets or 0) > 0 then
    add('')
    add(('Secrets masked: %d in %d files'):format(status.maskedSecrets, status.maskedFiles))
  end
  if (status.chunksWithoutVectors or 0) > 0 then
    add('')
    add(('Without a vector: %s, found by words'):format(words.count(status.chunksWithoutVectors, 'piece')))
  end
  if (status.failedFiles or 0) > 0 then
    add('')
    add(('## Failed: %d files'):format(status.failedFiles))
    for _, item in ipairs(status.failed or {}) do
      add(('- %s: %s'):format(plain(item.path), plain(item.reason)))
    end
  end
  if #status.skipped > 0 then
    add('')
    add('## Left out')
    for _, item in ipairs(status.skipped) do
      add(('- %s: %s'):format(plain(item.path), plain(item.reason)))
    end
  end
  return lines
end

local function destinations(model)
  local hosts, allowed = {}, true
  for _, place in ipairs(model.destinations) do
    hosts[#hosts + 1] = place.host .. (place['local'] and ' (this machine)' or '')
    allowed = allowed and place.allowed
  end
  return table.concat(hosts, ', '), allowed
end

--- A `carrel/providers` for people.
function M.model_lines(result)
  local lines = { '# Carrel: models' }
  local function add(line)
    lines[#lines + 1] = plain(line)
  end
  for _, model in ipairs(result.models) do
    local hosts, allowed = destinations(model)
    add('')
    add(('## %s: %s'):format(model.role, model.provider))
    add('Model:      ' .. model.model)
    if hosts == '' then
      add('Text goes:  nowhere, it runs inside Carrel')
    else
      add('Text goes:  ' .. hosts)
      add('Allowed:    ' .. (allowed and 'yes' or 'not yet; `:Carrel! models` asks'))
      add('Key:        ' .. (model.hasKey and 'found' or 'none found; :help carrel-keys'))
      add(('Used:       %d requests, %d tokens, $%.4f'):format(model.requests, model.tokens, model.dollars))
    end
    if model.answeredMs then
      add(('Answered:   in %.0f ms'):format(model.answeredMs))
    end
    if model.problem or model.lastError then
      add((model.problem and 'Problem:    ' or 'Last error: ') .. (model.problem or model.lastError))
    end
  end
  add('')
  add('## Providers')
  local roles = vim.tbl_keys(result.known)
  table.sort(roles)
  for _, role in ipairs(roles) do
    add(('- %s: %s'):format(role, #result.known[role] > 0 and table.concat(result.known[role], ', ') or 'none'))
  end
  return lines
end

return M
