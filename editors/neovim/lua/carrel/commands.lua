-- The sub-commands of `:Carrel`. Each asks the server and shows the answer; nothing here retrieves.
local chat = require('carrel.chat')
local config = require('carrel.config')
local conversation = require('carrel.conversation')
local memory = require('carrel.memory')
local progress = require('carrel.progress')
local receipt = require('carrel.receipt')
local roots = require('carrel.root')
local server = require('carrel.server')
local sources = require('carrel.sources')
local view = require('carrel.view')
local words = require('carrel.words')

local M = {}
local MOST_EARLIER = 6
local next_token = 0
local earlier = {} -- root -> the last questions of `:Carrel ask`, as turns

local function fail(message)
  vim.notify('carrel: ' .. message, vim.log.levels.ERROR)
end

local function notify(message)
  vim.notify('carrel: ' .. message, vim.log.levels.INFO)
end

local function with_text(given, prompt, use)
  local text = table.concat(given, ' ')
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

--- Ask something that is answered from the index; where there is none yet, say that one is made first.
local function ask_index(method, params, use, failed, root)
  root = root or roots.current()
  local function ask()
    ask_server(method, params, use, failed, root)
  end
  if (progress.status(root) or { files = 0 }).files > 0 then
    ask()
    return
  end
  ask_server('carrel/status', {}, function(status)
    progress.set_status(root, status)
    if status.files == 0 and status.state ~= 'ready' then
      notify('indexing the project for its first answer')
    end
    ask()
  end, failed, root)
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
  ask_index('carrel/context', params, function(pack)
    receipt.keep(pack, params, root)
    if pack.error then
      fail(pack.error)
    end
    use(pack)
  end, failed, root)
end

-- The file in front; of it the lines that were selected for a command (`:'<,'>Carrel …`), which go with the question.
local function in_front(selected)
  local file = roots.file(vim.api.nvim_get_current_buf())
  if not file then
    return nil
  end
  local selection = selected and { start = { line = selected[1] - 1, character = 0 }, ['end'] = { line = selected[2], character = 0 } }
  return { uri = vim.uri_from_fname(file), selection = selection or nil }
end

--- The context for a question as the server packs it; `use(pack)` gets it. `options` are further fields of `carrel/context`.
--- `failed(error)` is called instead where the server gave no answer; the person was told.
function M.context(question, use, options, failed)
  local params = vim.tbl_extend('force', {
    query = question,
    trigger = 'explicit',
    active = in_front(),
    openUris = open_uris(),
    model = chat.model(),
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
  return ('%s, %s'):format(words.count(#pack.hits, 'place'), words.count(pack.tokens, 'token'))
end

local actions = {}

function actions.search(given)
  with_text(given, 'Search: ', function(query)
    ask_index('carrel/search', { query = query, limit = 20 }, function(result)
      if #result.hits == 0 then
        notify(result.plan.problem and ('%s. %s'):format(words.NOTHING_FITS, result.plan.problem) or words.NOTHING_FITS)
      else
        view.pick(result.hits)
      end
    end)
  end)
end

function actions.context(given, _, selected)
  with_text(given, 'Context for: ', function(question)
    local buffer = vim.api.nvim_get_current_buf()
    M.context(question, function(pack)
      if pack.text == '' then
        if not pack.error then -- which was said
          notify(words.NOTHING_FITS)
        end
        return
      end
      local register = keep(pack.text)
      local name = chat.insert(buffer, pack)
      receipt.become(name and 'put into ' .. name or 'shown to you, not sent')
      notify(('%s in %s'):format(size(pack), name or ('register ' .. register)))
    end, { active = in_front(selected) })
  end)
end

local function hand_over(question, pack)
  local prompt = pack.text == '' and question or (pack.text .. '\n\n' .. question)
  local register = keep(prompt)
  local name = chat.ask(question, pack)
  receipt.become(name and 'sent to ' .. name or 'shown to you, not sent')
  if not name then
    view.show('prompt', vim.split(prompt, '\n', { plain = true }))
  end
  notify(('%s before the question, in %s'):format(size(pack), name or ('this window and register ' .. register)))
end

-- Earlier questions say what a follow-up is about. The server tells a new topic from them.
local function turns(root, question)
  local before = earlier[root] or {}
  earlier[root] = vim.list_slice(before, math.max(1, #before - MOST_EARLIER + 2), #before)
  table.insert(earlier[root], { role = 'user', content = question })
  return before
end

function actions.ask(given, _, selected)
  with_text(given, 'Ask about this project: ', function(question)
    M.context(question, function(pack)
      if not config.current.review then
        hand_over(question, pack)
        return
      end
      receipt.show(ask_context)
      vim.ui.select({ 'Send', "Don't send" }, { prompt = ('Send this with your question? (%s)'):format(size(pack)) }, function(choice)
        if choice == 'Send' then
          hand_over(question, receipt.last() or pack)
        else
          receipt.become('not sent: you declined')
        end
      end)
    end, { active = in_front(selected), history = turns(roots.current(), question) })
  end)
end

--- With `!` a new conversation.
function actions.chat(given, bang, selected)
  local root = roots.current()
  with_text(given, 'Ask about this project: ', function(question)
    if bang then
      conversation.forget(root)
    end
    conversation.ask(root, question, { active = in_front(selected), openUris = open_uris() }, fail)
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
  if stopped == 0 then
    notify('nothing is running')
    return
  end
  ask_server('carrel/status', {}, function(status, root)
    progress.set_status(root, status)
    notify(words.cancelled(status))
  end)
end

local function switch(on)
  local root = roots.current()
  if not memory.choose(root, on) then
    fail(('the choice could not be kept in %s'):format(vim.fn.stdpath('data')))
    return
  end
  if on then
    server.configure(root)
    actions.index({}, false)
  else
    server.stop(root)
    notify('off for this project. You can ask at any time; `:Carrel on` remembers it again')
  end
end

function actions.on()
  switch(true)
end

function actions.off()
  switch(false)
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

function actions.sources(given)
  sources.run(given, ask_server)
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

--- Run `:Carrel WORDS`; without words, `status`. `selected`: the first and last line of a range that was given.
function M.run(given, bang, selected)
  local name = given[1] or 'status'
  local action = actions[name]
  if action then
    action(vim.list_slice(given, 2), bang or false, selected)
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
  if line:match('^%s*Carrel%s+sources%s+%S*$') then
    return sources.complete(lead)
  elseif line:match('^%s*Carrel!?%s+%S+%s') then
    return {}
  end
  return vim.tbl_filter(function(name)
    return name:sub(1, #lead) == lead
  end, M.names())
end

return M
