-- What a user may set, with its defaults. `setup()` merges over these; unknown keys are reported, not ignored.
local M = {}

M.defaults = {
  -- Starts the language server: a list of words, never a shell line.
  cmd = { 'carrel', 'serve' },
  -- A folder that holds one of these is a project.
  root_markers = { '.carrel.toml', '.git', 'pyproject.toml', 'Cargo.toml', 'package.json', 'go.mod', 'pom.xml', 'build.gradle' },
  -- Start the server as soon as a file of a project is opened. Off: at the first `:Carrel` command.
  autostart = true,
  -- Say once for a project that it isn't indexed, and what indexes it.
  welcome = true,
  -- Where `:Carrel context` leaves its text, beside the unnamed register.
  register = '+',
  -- Where `:Carrel ask` goes: 'auto', 'copilotchat', 'codecompanion', 'buffer', or function(question, pack).
  chat = 'auto',
  -- Show the receipt and ask before `:Carrel ask` hands anything to a chat.
  review = false,
  -- Sent to the server as they are: see the settings page of the documentation.
  settings = { ragEnabled = false, ragAutoIndex = false, ragTopK = 5 },
}

M.current = vim.deepcopy(M.defaults)

local function fits(key, value)
  return type(value) == type(M.defaults[key]) or (key == 'chat' and type(value) == 'function')
end

--- Lay `options` over the defaults. What can't be used is reported and left at its default.
function M.set(options)
  local usable = {}
  for key, value in pairs(options or {}) do
    if M.defaults[key] == nil then
      vim.notify(('carrel: unknown option %q'):format(key), vim.log.levels.WARN)
    elseif not fits(key, value) then
      vim.notify(('carrel: option %q must be a %s'):format(key, type(M.defaults[key])), vim.log.levels.WARN)
    else
      usable[key] = value
    end
  end
  M.current = vim.tbl_deep_extend('force', vim.deepcopy(M.defaults), usable)
  -- Lists replace, they don't merge item by item.
  M.current.cmd = usable.cmd or M.current.cmd
  M.current.root_markers = usable.root_markers or M.current.root_markers
  return M.current
end

return M
