-- `:Carrel chat`: a conversation with the chat model that Carrel's server is set to use, in a scratch window. Needs no chat plugin.
local receipt = require('carrel.receipt')
local server = require('carrel.server')
local view = require('carrel.view')

local M = {}
local TITLE = 'chat'
local talks = {} -- root -> { messages, lines, piece, cancel }; `lines` show what is finished, `piece` is what streams in

local function add(talk, text)
  vim.list_extend(talk.lines, vim.split(text, '\n', { plain = true }))
end

local function shown(talk)
  local lines = vim.list_extend({}, talk.lines)
  if talk.piece then
    vim.list_extend(lines, vim.split(talk.piece .. '…', '\n', { plain = true })) -- until its places are checked, too
  end
  return lines
end

-- What came before a tool, or before the model was asked again, is no part of the answer.
local function step(talk, value)
  if value.kind == 'text' then
    talk.piece = talk.piece .. (value.text or '')
  elseif value.kind == 'toolStarted' then
    talk.piece = ''
    local arguments = value.arguments or {}
    local about = arguments.query or arguments.path or arguments.name
    add(talk, ('> %s%s'):format(value.tool, type(about) == 'string' and ': ' .. about:gsub('%c+', ' ') or ''))
  elseif value.kind == 'askedAgain' then
    talk.piece = ''
    add(talk, '> asked again')
  end
end

local function place(citation)
  return ('%s:%d-%d'):format(citation.path, citation.startLine, citation.endLine)
end

-- The places that the answer cites: under it, and in the quickfix list.
local function cite(question, answer)
  local lines, items = {}, {}
  for _, citation in ipairs(answer.citations) do
    local doubt = citation.ok and '' or (' (unverified: %s)'):format(citation.reason or 'the model was not given it')
    lines[#lines + 1] = '- ' .. place(citation) .. doubt
    items[#items + 1] = {
      filename = citation.uri:match('^file:') and vim.uri_to_fname(citation.uri) or citation.uri,
      lnum = citation.startLine,
      end_lnum = citation.endLine,
      text = citation.ok and 'cited' or vim.trim(doubt),
    }
  end
  vim.fn.setqflist({}, ' ', { title = 'Carrel: ' .. question, items = items })
  return lines
end

local function finish(talk, question, answer)
  talk.piece = nil
  add(talk, answer.text)
  local places = cite(question, answer)
  if #places > 0 then
    add(talk, '')
    vim.list_extend(talk.lines, places)
  end
  for _, problem in ipairs({ answer.problem, answer.cut and 'The answer was cut off.' or nil }) do
    add(talk, '> ' .. problem)
  end
  talk.messages[#talk.messages + 1] = { role = 'assistant', content = answer.text }
end

-- Opens the place in the line under the cursor, beside the conversation.
local function open_place()
  local path, line = vim.api.nvim_get_current_line():match('^%- (.+):(%d+)%-%d+')
  for _, item in ipairs(path and vim.fn.getqflist() or {}) do
    local name = vim.api.nvim_buf_get_name(item.bufnr)
    if item.lnum == tonumber(line) and name:sub(-#path) == path then
      vim.cmd('wincmd p')
      view.open({ uri = vim.uri_from_fname(name), startLine = item.lnum })
      return
    end
  end
end

-- The conversation in the window: there is one window, and each project has a conversation.
local in_window

local function window(talk)
  in_window = talk
  local buffer = view.show(TITLE, shown(talk))
  vim.keymap.set('n', '<cr>', open_place, { buffer = buffer, nowait = true, silent = true })
  return buffer
end

--- Forget what was said in a project.
function M.forget(root)
  local talk = talks[root]
  if talk and talk.cancel then
    talk.cancel()
  end
  talks[root] = nil
end

--- Ask the model. `params` say what is in front, `fail(message)` tells a person what went wrong. Closing the window cancels.
function M.ask(root, question, params, fail)
  local talk = talks[root] or { messages = {}, lines = {} }
  talks[root] = talk
  if talk.cancel then
    fail('the last question is still being answered; :Carrel cancel stops it')
    return
  end
  add(talk, (#talk.lines > 0 and '\n' or '') .. '## ' .. question:gsub('%c+', ' ') .. '\n')
  talk.piece = ''
  local buffer = window(talk)
  talk.messages[#talk.messages + 1] = { role = 'user', content = question }
  local drawing = false
  local function draw()
    if drawing then
      return -- one drawing shows all the pieces that came before it
    end
    drawing = true
    vim.schedule(function()
      drawing = false
      if in_window == talk and vim.api.nvim_buf_is_valid(buffer) then
        view.fill(buffer, shown(talk))
      end
    end)
  end
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buffer,
    once = true,
    callback = function()
      if talk.cancel then
        talk.cancel()
      end
    end,
  })
  local answered = false
  local cancel = server.request(root, 'carrel/chat', vim.tbl_extend('force', params, { messages = talk.messages }), function(err, answer)
    answered, talk.cancel, talk.piece = true, nil, nil
    if answer then
      finish(talk, question, answer)
      receipt.keep(answer.pack, vim.tbl_extend('force', params, { query = question }), root)
      receipt.become('answered by the chat model')
    else
      table.remove(talk.messages) -- the next question is not asked after one without an answer
      add(talk, err == server.CANCELLED and '> cancelled' or '> ' .. err)
      if err ~= server.CANCELLED then
        fail(err)
      end
    end
    draw()
  end, {
    partial = function(value)
      step(talk, value)
      draw()
    end,
  })
  talk.cancel = not answered and cancel or nil
end

return M
