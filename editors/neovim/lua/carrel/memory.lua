-- Whether a project's memory is on: the person's choice for this project, kept in Neovim's own folder and never in the project.
-- On: the project is indexed when it opens, and chats that ask by themselves get context.
local config = require('carrel.config')

local M = {}

local function path()
  return vim.fn.stdpath('data') .. '/carrel/projects.json'
end

local function read()
  local file = io.open(path(), 'r')
  local text = file and file:read('*a') or ''
  if file then
    file:close()
  end
  local ok, choices = pcall(vim.json.decode, text)
  return ok and type(choices) == 'table' and choices or {}
end

local function write(choices)
  vim.fn.mkdir(vim.fn.fnamemodify(path(), ':h'), 'p')
  local beside = ('%s.%d'):format(path(), vim.fn.getpid())
  local file = io.open(beside, 'w')
  if not file then
    return false
  end
  file:write(vim.tbl_isempty(choices) and '{}' or vim.json.encode(choices))
  file:close()
  return (vim.uv or vim.loop).fs_rename(beside, path()) == true
end

--- What the person chose for a project; nil where `settings` say it.
function M.chosen(root)
  local choice = read()[root]
  if choice == 'on' or choice == 'off' then
    return choice == 'on'
  end
end

--- Tell whether the memory of a project is on.
function M.is_on(root)
  local choice = M.chosen(root)
  if choice == nil then
    return config.current.settings.ragEnabled == true or config.current.settings.ragAutoIndex == true
  end
  return choice
end

--- Keep a choice; false where it can't be written.
function M.choose(root, on)
  local choices = read()
  choices[root] = on and 'on' or 'off'
  return write(choices)
end

--- Tell whether the person wasn't told of a project yet, and note that they are.
function M.first_time(root)
  local choices = read()
  if choices[root] ~= nil then
    return false
  end
  choices[root] = 'told'
  return write(choices)
end

--- The server's settings for a project: those of `setup`, with the choice over them.
function M.settings(root)
  local choice = M.chosen(root)
  local chosen = choice == nil and {} or { ragEnabled = choice, ragAutoIndex = choice }
  return vim.tbl_extend('force', config.current.settings, chosen)
end

return M
