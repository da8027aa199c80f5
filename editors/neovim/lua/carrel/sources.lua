-- `:Carrel sources`: what is searched beside the workspace. The server checks what is typed, and asks the person before it writes.
local view = require('carrel.view')
local words = require('carrel.words')

local M = {}
local ACTIONS = { 'add', 'remove' }

local function notify(message)
  vim.notify('carrel: ' .. message, vim.log.levels.INFO)
end

--- A source as lines of the list.
function M.lines(result)
  local lines = { '# Carrel: sources' }
  local function add(...)
    vim.list_extend(lines, { ... })
  end
  for _, source in ipairs(result.sources) do
    add('', ('## %s: %s'):format(source.id, source.kind))
    add('Place:       ' .. source.folder)
    if source.description ~= '' then
      add('Description: ' .. source.description)
    end
    local waits = source.pending > 0 and (', %s to update'):format(words.count(source.pending, 'file')) or ''
    add(('State:       %s, %s, %s%s'):format(source.state, words.count(source.files, 'file'), words.count(source.chunks, 'piece'), waits))
    for _, problem in ipairs(source.problems or {}) do
      add('Problem:     ' .. problem)
    end
    for _, file in ipairs(source.failed or {}) do
      add(('Not read:    %s: %s'):format(file.path, file.reason))
    end
  end
  add('', '`:Carrel sources add` adds one for all your projects, `:Carrel sources remove {id}` takes one out.')
  return lines
end

local function told(id, done)
  return function(result)
    if result.changed then
      notify(('%s %s, written to %s'):format(id, done, vim.fn.fnamemodify(result.file, ':~')))
    else
      vim.notify('carrel: ' .. result.problem, vim.log.levels.WARN)
    end
  end
end

-- The words that were typed first, then an answer to each question that is left.
local function with_words(given, questions, use)
  local function ask(number)
    local question = questions[number]
    if not question then
      use(given)
    elseif given[number] then
      ask(number + 1)
    else
      vim.ui.input(question, function(answer)
        if answer and (answer ~= '' or question.optional) then
          given[number] = answer
          ask(number + 1)
        end
      end)
    end
  end
  ask(1)
end

local function absolute(place)
  if place == '' or place:match('^%a+://') then
    return place
  end
  return vim.fn.fnamemodify(place, ':p') -- not `expand`, which runs what stands in backticks
end

local function add(given, ask_server)
  local is_git = vim.tbl_contains(given, '--git')
  given = vim.tbl_filter(function(word)
    return word ~= '--git'
  end, given)
  local questions = {
    { prompt = 'Name of the source (small letters, digits, - and _): ' },
    { prompt = 'Folder, mcp://SERVER or qdrant://HOST:PORT/NAME: ', completion = 'dir', optional = is_git },
    { prompt = 'What it holds, in one line (may be empty): ', optional = true },
  }
  with_words(given, is_git and { questions[1] } or questions, function(answers)
    local params = { id = answers[1], place = absolute(answers[2] or ''), git = is_git }
    params.description = table.concat(vim.list_slice(answers, 3), ' ')
    ask_server('carrel/sources/add', params, told(answers[1], 'is searched with all your projects from now on'))
  end)
end

local function remove(given, ask_server)
  with_words(given, { { prompt = 'Name of the source to remove: ' } }, function(answers)
    ask_server('carrel/sources/remove', { id = answers[1] }, told(answers[1], 'is no source any more'))
  end)
end

--- Run `:Carrel sources WORDS`; `ask_server(method, params, use)` asks.
function M.run(given, ask_server)
  local action = table.remove(given, 1)
  if action == 'add' then
    add(given, ask_server)
  elseif action == 'remove' then
    remove(given, ask_server)
  elseif action then
    vim.notify(('carrel: unknown action %q of sources; one of %s'):format(action, table.concat(ACTIONS, ', ')), vim.log.levels.ERROR)
  else
    ask_server('carrel/sources', {}, function(result)
      view.show('sources', M.lines(result))
    end)
  end
end

function M.complete(lead)
  return vim.tbl_filter(function(name)
    return name:sub(1, #lead) == lead
  end, ACTIONS)
end

return M
