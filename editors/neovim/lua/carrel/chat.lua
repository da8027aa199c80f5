-- Hands context to a chat plugin through what it documents: CopilotChat.nvim's functions and `ask`, CodeCompanion's chats and
-- their context. The user's own words stay as they are.
local config = require('carrel.config')

local M = {}

-- Loads a plugin only where the user has it: a plugin manager's stub command counts.
local function plugin(module, command)
  if package.loaded[module] or vim.fn.exists(':' .. command) == 2 then
    local ok, found = pcall(require, module)
    return ok and found or nil
  end
end

local function copilotchat()
  return plugin('CopilotChat', 'CopilotChat')
end

local function codecompanion()
  return plugin('codecompanion', 'CodeCompanionChat')
end

local function resource(pack)
  return { uri = 'carrel://context/' .. pack.id, name = 'Carrel', mimetype = 'text/plain', data = pack.text }
end

local function ask_copilotchat(question, pack)
  local chat = copilotchat()
  if not chat then
    return nil
  end
  if pack.text == '' then
    chat.ask(question)
  elseif type((chat.config or {}).functions) == 'table' then
    -- As a resource: a `#word` or `@word` inside the code is not taken for one of the chat's own.
    local function resolve()
      return { resource(pack) }
    end
    local functions = { carrel_pack = { description = 'What Carrel found for this question', uri = 'carrel://context', resolve = resolve } }
    chat.ask(question, { functions = functions, resources = { 'carrel_pack' }, remember_as_sticky = false })
  else
    chat.ask(pack.text .. '\n\n' .. question)
  end
  return 'CopilotChat'
end

local function ask_codecompanion(question, pack)
  local companion = codecompanion()
  if not companion then
    return nil
  end
  local messages = { { role = 'user', content = question, opts = { visible = true } } }
  if pack.text ~= '' then
    table.insert(messages, 1, { role = 'user', content = pack.text, opts = { visible = false } })
  end
  companion.chat({ messages = messages, auto_submit = true })
  return 'CodeCompanion'
end

local ways = {
  copilotchat = { ask_copilotchat },
  codecompanion = { ask_codecompanion },
  auto = { ask_copilotchat, ask_codecompanion },
  buffer = {},
}

--- The name of the model that the chat uses, if it says: contexts grow with the windows of models that the server knows.
function M.model()
  local choice = config.current.chat
  local copilot = choice ~= 'codecompanion' and choice ~= 'buffer' and type(choice) ~= 'function' and copilotchat()
  local model = copilot and (copilot.config or {}).model
  return type(model) == 'string' and model or nil
end

--- The turns of a CodeCompanion chat in the words of the person and of the model; what plugins put in between is left out.
function M.history(chat)
  local found, roles = {}, { user = 'user', llm = 'assistant' }
  for _, message in ipairs(chat.messages or {}) do
    local hidden = (message.opts or {}).visible == false
    if roles[message.role] and not hidden and type(message.content) == 'string' and message.content ~= '' then
      found[#found + 1] = { role = roles[message.role], content = message.content }
    end
  end
  return found
end

--- Send a question with its context; the name of the chat that took it, or nil.
function M.ask(question, pack)
  local choice = config.current.chat
  if type(choice) == 'function' then
    choice(question, pack)
    return 'your chat'
  end
  for _, way in ipairs(ways[choice] or ways.auto) do
    local name = way(question, pack)
    if name then
      return name
    end
  end
end

--- Add context to a CodeCompanion chat as one of its context items.
function M.add_to_codecompanion(chat, pack)
  chat:add_context({ role = 'user', content = pack.text }, 'carrel', ('<carrel>%s</carrel>'):format(pack.query))
end

--- Put context in the chat that a buffer shows; its name, or nil if the buffer shows none.
function M.insert(buffer, pack)
  local filetype = vim.api.nvim_buf_is_valid(buffer) and vim.bo[buffer].filetype or ''
  if filetype == 'codecompanion' and codecompanion() then
    M.add_to_codecompanion(codecompanion().buf_get_chat(buffer), pack)
    return 'this chat'
  elseif filetype == 'copilot-chat' then
    local last = vim.api.nvim_buf_line_count(buffer)
    vim.api.nvim_buf_set_lines(buffer, last, last, false, vim.split(pack.text .. '\n', '\n', { plain = true }))
    return 'this chat'
  end
end

--- A function for CopilotChat's `functions`: `#carrel:`how is a login checked?`` in a prompt gives the context for it.
function M.copilotchat_function()
  local properties = { question = { type = 'string', description = 'What to look for in the code of this project' } }
  return {
    description = "The parts of this project's code that answer a question",
    uri = 'carrel://search/{question}',
    schema = { type = 'object', required = { 'question' }, properties = properties },
    resolve = function(input)
      -- CopilotChat calls once more, without words, for the part of a quoted input that looks like an unquoted one.
      if (input.question or '') == '' then
        return {}
      end
      -- CopilotChat resolves inside plenary's coroutines, on which it depends itself.
      local context = require('plenary.async').wrap(function(question, done)
        vim.schedule(function()
          require('carrel').context(question, done)
        end)
      end, 2)
      local pack = context(input.question)
      return pack.text ~= '' and { resource(pack) } or {}
    end,
  }
end

return M
