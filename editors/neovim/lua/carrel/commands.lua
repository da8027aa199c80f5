-- The sub-commands of `:Carrel`. Each asks the server and shows the answer; nothing here retrieves.
local client = require('carrel.client')
local config = require('carrel.config')
local view = require('carrel.view')

local M = {}
local last_pack
local cancel_running

local function fail(message)
  vim.notify('carrel: ' .. message, vim.log.levels.ERROR)
end

local function with_text(words, prompt, use)
  local text = table.concat(words, ' ')
  if text ~= '' then
    use(text)
  else
    vim.ui.input({ prompt = prompt }, function(answer)
      if answer and answer ~= '' then
        use(answer)
      end
    end)
  end
end

local function ask_server(method, params, use)
  cancel_running = client.request(method, params, function(err, result)
    cancel_running = nil
    if err then
      fail(err)
    else
      use(result)
    end
  end)
end

--- The context for a question as the server packs it; `use(pack)` gets it. The public hook for chat plugins.
function M.context(question, use)
  local active = vim.api.nvim_buf_get_name(0)
  ask_server('carrel/context', {
    query = question,
    trigger = 'explicit',
    active = active ~= '' and { uri = vim.uri_from_fname(active) } or nil,
  }, function(pack)
    last_pack = pack
    if pack.error then
      fail(pack.error)
    end
    use(pack)
  end)
end

local function keep(text)
  vim.fn.setreg('"', text)
  pcall(vim.fn.setreg, config.current.register, text)
end

local actions = {}

function actions.search(words)
  with_text(words, 'Search by meaning: ', function(query)
    ask_server('carrel/search', { query = query, limit = 20 }, function(result)
      if #result.hits == 0 then
        vim.notify('carrel: no relevant code found', vim.log.levels.INFO)
      else
        view.pick(result.hits)
      end
    end)
  end)
end

function actions.context(words)
  with_text(words, 'Context for: ', function(question)
    M.context(question, function(pack)
      keep(pack.text)
      vim.notify(('carrel: %d places, %d tokens in register %s'):format(#pack.hits, pack.tokens, config.current.register))
    end)
  end)
end

function actions.ask(words)
  with_text(words, 'Ask about this project: ', function(question)
    M.context(question, function(pack)
      local prompt = pack.text == '' and question or (pack.text .. '\n\n' .. question)
      keep(prompt)
      view.show('prompt', vim.split(prompt, '\n', { plain = true }))
      vim.notify(('carrel: the prompt is in register %s, ready for any chat'):format(config.current.register))
    end)
  end)
end

function actions.index()
  ask_server('carrel/index', {}, function(report)
    vim.notify(
      ('carrel: %d added, %d changed, %d removed, %d unchanged, %.1f s'):format(report.added, report.changed, report.removed, report.unchanged, report.elapsedMs / 1000)
    )
  end)
end

function actions.cancel()
  if cancel_running then
    cancel_running()
    cancel_running = nil
    vim.notify('carrel: cancelled')
  else
    vim.notify('carrel: nothing is running')
  end
end

function actions.status()
  ask_server('carrel/status', {}, function(status)
    local lines = {
      '# Carrel',
      '',
      'State:   ' .. status.state .. (status.error and (' (' .. status.error .. ')') or ''),
      ('Files:   %d in %d chunks, %.1f MB'):format(status.files, status.chunks, status.bytes / 1e6),
      'Model:   ' .. (status.model and status.model.id or 'none'),
      'Store:   ' .. tostring(status.store),
      '',
    }
    for language, files in pairs(status.languages or {}) do
      lines[#lines + 1] = ('- %s: %d files'):format(language, files)
    end
    view.show('status', lines)
  end)
end

function actions.receipt()
  if last_pack then
    view.show('receipt', view.receipt_lines(last_pack))
  else
    vim.notify('carrel: no context was asked for yet; try :Carrel context')
  end
end

function M.run(words)
  local name = table.remove(words, 1)
  local action = actions[name or 'status']
  if action then
    action(words)
  else
    fail(('unknown command %q; one of %s'):format(name, table.concat(M.names(), ', ')))
  end
end

function M.names()
  local names = vim.tbl_keys(actions)
  table.sort(names)
  return names
end

function M.complete(lead, line)
  if line:match('^%s*Carrel%s+%S+%s') then
    return {}
  end
  return vim.tbl_filter(function(name)
    return name:sub(1, #lead) == lead
  end, M.names())
end

return M
