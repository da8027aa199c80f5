-- What a user may set, with its defaults. `setup()` merges over these; unknown keys are reported, not ignored.
local M = {}

M.defaults = {
  cmd = { 'carrel', 'serve' },
  root_markers = { '.carrel.toml', '.git', 'pyproject.toml', 'Cargo.toml', 'package.json', 'go.mod', 'pom.xml', 'build.gradle' },
  -- Start the server as soon as a file of a project is opened. Off: at the first `:Carrel` command.
  autostart = true,
  -- Where `:Carrel context` and `:Carrel ask` leave their text.
  register = '+',
  -- Sent to the server as they are: see the settings page of the documentation.
  settings = { ragEnabled = false, ragAutoIndex = false, ragTopK = 5 },
}

M.current = vim.deepcopy(M.defaults)

function M.set(options)
  for key in pairs(options or {}) do
    if M.defaults[key] == nil then
      vim.notify(('carrel: unknown option %q'):format(key), vim.log.levels.WARN)
    end
  end
  M.current = vim.tbl_deep_extend('force', vim.deepcopy(M.defaults), options or {})
  return M.current
end

return M
