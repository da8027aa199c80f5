-- The sub-commands of `:Carrel`. Each asks the server and shows the answer; nothing here retrieves.
local chat = require('carrel.chat')
local config = require('carrel.config')
local progress = require('carrel.progress')
local receipt = require('carrel.receipt')
local roots = require('carrel.root')
local server = require('carrel.server')
local view = require('carrel.view')

local M = {}
local next_token = 0

local function fail(message)
  vim.notify('carrel: ' .. message, vim.log.levels.ERROR)
end

local function notify(message)
  vim.notify('carrel: ' .. message, vim.log.levels.INFO)
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

local function ask_server(method, params, use, failed, root)
  root = root or roots.current()
  server.request(root, method, params, function(err, result)
    if not err then
      use(result, root)
      return
    end
    if err ~= server.CANCELLED then -- `:Carrel cancel` said so
      fail(err)
    end
    if failed then
      failed(err)
    end
  end)
end

local function open_uris()
  local uris = {}
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    local path = roots.file(vim.api.nvim_win_get_buf(window))
    uris[#uris + 1] = path and vim.uri_from_fname(path)
  end
  return uris
end

local function ask_context(root, params, use, failed)
  ask_server('carrel/context', params, function(pack)
    receipt.keep(pack, params, root)
    if pack.error then
      fail(pack.error)
    end
    use(pack)
  end, failed, root)
end

--- The context for a question as the server packs it; `use(pack)` gets it. `options` are further fields of `carrel/context`.
--- `failed(error)` is called instead where the server gave no answer; the person was told.
function M.context(question, use, options, failed)
  local active = roots.file(vim.api.nvim_get_current_buf())
  local params = vim.tbl_extend('force', {
    query = question,
    trigger = 'explicit',
    active = active and { uri = vim.uri_from_fname(active) } or nil,
    openUris = open_uris(),
  }, options or {})
  ask_context(roots.current(), params, use, failed)
end

--- Put a text in the unnamed register and the configured one; the name of the one to paste from.
local function keep(text)
  vim.fn.setreg('"', text)
  local name = config.current.register
  -- Without a clipboard provider these two would only raise a warning.
  if (name == '+' or name == '*') and vim.fn.has('clipboard') ~= 1 then
    return '"'
  end
  vim.fn.setreg(name, text)
  return name
end

local function size(pack)
  return ('%d places, %d tokens'):format(#pack.hits, pack.tokens)
end

local actions = {}

function actions.search(words)
  with_text(words, 'Search by meaning: ', function(query)
    ask_server('carrel/search', { query = query, limit = 20 }, function(result)
      if #result.hits == 0 then
        notify('no relevant code found')
      else
        view.pick(result.hits)
      end
    end)
  end)
end

function actions.context(words)
  with_text(words, 'Context for: ', function(question)
    local buffer = vim.api.nvim_get_current_buf()
    M.context(question, function(pack)
      if pack.text == '' then
        notify('no relevant code found')
        return
      end
      local register = keep(pack.text)
      local where = chat.insert(buffer, pack) or ('register ' .. register)
      notify(('%s in %s'):format(size(pack), where))
    end)
  end)
end

local function hand_over(question, pack)
  local prompt = pack.text == '' and question or (pack.text .. '\n\n' .. question)
  local register = keep(prompt)
  local name = chat.ask(question, pack)
  if not name then
    view.show('prompt', vim.split(prompt, '\n', { plain = true }))
  end
  notify(('%s before the question, in %s'):format(size(pack), name or ('this window and register ' .. register)))
end

function actions.ask(words)
  with_text(words, 'Ask about this project: ', function(question)
    M.context(question, function(pack)
      if not config.current.review then
        hand_over(question, pack)
        return
      end
      receipt.show(ask_context)
      vim.ui.select({ 'Send', "Don't send" }, { prompt = ('Send this with your question? (%s)'):format(size(pack)) }, function(choice)
        if choice == 'Send' then
          hand_over(question, receipt.last() or pack)
        end
      end)
    end)
  end)
end

function actions.index(_, bang)
  next_token = next_token + 1
  ask_server('carrel/index', { force = bang, workDoneToken = ('carrel-nvim-%d'):format(next_token) }, function(report)
    local counts = '%d added, %d changed, %d removed, %d unchanged, %d failed in %.1f s'
    notify(counts:format(report.added, report.changed, report.removed, report.unchanged, report.failed, report.elapsedMs / 1000))
  end)
end

function actions.cancel()
  local stopped = server.cancel(roots.current())
  notify(stopped == 0 and 'nothing is running' or 'cancelled; what was finished is kept')
end

function actions.status()
  ask_server('carrel/status', {}, function(status, root)
    progress.set_status(root, status)
    view.show('status', view.status_lines(status))
  end)
end

--- With `!` each model is asked for as little as it can answer, and the person for a permission that is missing.
function actions.models(_, bang)
  ask_server('carrel/providers', { check = bang }, function(result)
    view.show('models', view.model_lines(result))
  end)
end

function actions.receipt()
  if receipt.last() then
    receipt.show(ask_context)
  else
    notify('no context was asked for yet; try :Carrel context')
  end
end

function actions.clear(_, bang)
  local function clear()
    ask_server('carrel/clear', {}, function(result)
      notify(('the index is deleted, %.1f MB freed'):format(result.freedBytes / 1e6))
    end)
  end
  if bang then
    clear()
    return
  end
  local prompt = ('Delete the index of %s?'):format(vim.fn.fnamemodify(roots.current(), ':~'))
  vim.ui.select({ 'Delete', 'Keep' }, { prompt = prompt }, function(choice)
    if choice == 'Delete' then
      clear()
    end
  end)
end

--- Run `:Carrel WORDS`; without words, `status`.
function M.run(words, bang)
  local name = words[1] or 'status'
  local action = actions[name]
  if action then
    action(vim.list_slice(words, 2), bang or false)
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
  if line:match('^%s*Carrel!?%s+%S+%s') then
    return {}
  end
  return vim.tbl_filter(function(name)
    return name:sub(1, #lead) == lead
  end, M.names())
end

return M
