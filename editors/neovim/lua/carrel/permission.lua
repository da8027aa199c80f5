-- `carrel/confirm`: only the person at the keyboard decides; no option, function or command answers for them.
local M = {}

local WORD = 'allow'

-- One line, whatever it holds: nothing may look like another line of the question.
local function plain(text)
  return (tostring(text):gsub('%c+', ' '))
end

--- What the person reads: the risk, and all that is decided.
function M.lines(question)
  local lines = { 'Carrel: ' .. plain(question.risk) }
  local names = vim.tbl_keys(question.details or {})
  table.sort(names)
  for _, name in ipairs(names) do
    lines[#lines + 1] = ('  %s: %s'):format(plain(name), plain(question.details[name]))
  end
  return lines
end

--- Have the person decide; gives the answer to the server. A typed word is asked for, since a single key or an Enter may have
--- been meant for the buffer. Everything else, and an editor that nobody looks at, is a no.
function M.decide(question)
  local allowed = false
  if #vim.api.nvim_list_uis() > 0 then
    local lines = M.lines(question)
    lines[#lines + 1] = ('Type "%s" to allow it, or only <Enter> to refuse: '):format(WORD)
    local ok, typed = pcall(vim.fn.input, table.concat(lines, '\n'))
    allowed = ok and vim.trim(typed) == WORD
    vim.cmd('redraw')
    local refused = question.what == 'provider' and 'not allowed; :Carrel models says what is' or 'not allowed'
    vim.notify('carrel: ' .. (allowed and 'allowed' or refused), vim.log.levels.INFO)
  end
  return { allowed = allowed }
end

return M
