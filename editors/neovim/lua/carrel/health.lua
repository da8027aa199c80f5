-- `:checkhealth carrel`. The names of the reporting functions changed in Neovim 0.10.
local M = {}

local health = vim.health or require('health')
local start = health.start or health.report_start
local ok = health.ok or health.report_ok
local warn = health.warn or health.report_warn
local bad = health.error or health.report_error

function M.check()
  local config = require('carrel.config').current
  start('carrel')
  local command = config.cmd[1]
  if vim.fn.executable(command) ~= 1 then
    bad(('%q is not executable'):format(command), { 'pip install carrel', "or set cmd in require('carrel').setup{}" })
    return
  end
  local version = vim.fn.systemlist({ command, '--version' })[1]
  ok(('%s: %s'):format(vim.fn.exepath(command), version or 'no version'))
  local report = vim.fn.systemlist({ command, 'doctor', vim.fn.getcwd() })
  if vim.v.shell_error == 0 then
    ok('carrel doctor finds nothing wrong')
  else
    warn('carrel doctor: ' .. table.concat(report, '\n'))
  end
  if not config.settings.ragEnabled then
    ok('ragEnabled is off: context is only given when you ask for it')
  end
end

return M
