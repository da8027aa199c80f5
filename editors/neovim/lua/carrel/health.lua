-- `:checkhealth carrel`. The names of the reporting functions changed in Neovim 0.10.
local M = {}

local health = vim.health or require('health')
local start = health.start or health.report_start
local ok = health.ok or health.report_ok
local info = health.info or health.report_info
local warn = health.warn or health.report_warn
local bad = health.error or health.report_error

local function decode(text)
  local found, value = pcall(vim.json.decode, text)
  return found and type(value) == 'table' and value or nil
end

local function output(command)
  local text = vim.fn.system(command)
  return vim.v.shell_error, vim.trim(text)
end

-- The command line beside `carrel serve`; nil when `cmd` is something else.
local function command_line(cmd)
  if cmd[#cmd] ~= 'serve' then
    return nil
  end
  return vim.list_slice(cmd, 1, #cmd - 1)
end

local function with(command, ...)
  return vim.list_extend(vim.deepcopy(command), { ... })
end

local function report_findings(findings)
  local tell = { ok = ok, note = info, warning = warn, error = bad }
  for _, finding in ipairs(findings) do
    local text = ('%s: %s'):format(finding.check, finding.detail)
    if finding.remedy == '' or finding.level == 'ok' then
      tell[finding.level](text)
    elseif finding.level == 'note' then
      info(text .. ' → ' .. finding.remedy)
    else
      tell[finding.level](text, { finding.remedy })
    end
  end
end

local again = 'install it again from its checkout or wheel: `pip install --force-reinstall /path/to/carrel`'

local function check_server(config)
  local command = config.cmd[1]
  if not command or vim.fn.executable(command) ~= 1 then
    bad(('%s is not installed or not on PATH'):format(command or 'cmd'), {
      'install it from a checkout or a wheel: `pip install /path/to/carrel` (README.md of the plugin)',
      "or set `cmd` in require('carrel').setup{} to where it is",
    })
    return
  end
  local line = command_line(config.cmd)
  if not line then
    info(('cmd is `%s`: `carrel doctor` is not asked'):format(table.concat(config.cmd, ' ')))
    return
  end
  local code, version = output(with(line, '--version'))
  if code ~= 0 then
    bad(('`%s --version` failed: %s'):format(table.concat(line, ' '), version), { again })
    return
  end
  ok(('%s at %s'):format(version, vim.fn.exepath(command)))
  local _, text = output(with(line, 'doctor', '--json', require('carrel.root').current()))
  local result = decode(text:match('{.*}') or '')
  if result and result.findings then
    report_findings(result.findings)
  else
    bad('`carrel doctor` gave no answer: ' .. text:sub(1, 400), { again })
  end
end

local function check_running()
  local running = require('carrel.server').list()
  if vim.tbl_isempty(running) then
    info('No server runs yet; it starts with the first file of a project or the first :Carrel command')
  end
  for root, ready in pairs(running) do
    ok(('A server runs for %s%s'):format(root, ready and '' or ' (starting)'))
  end
  info('Log of the server: ' .. require('carrel.lsp').log_path())
end

function M.check()
  local config = require('carrel.config').current
  start('carrel: Neovim')
  if vim.fn.has('nvim-0.7') == 1 then
    ok('Neovim is new enough')
  else
    bad('Carrel needs Neovim 0.7 or newer')
  end
  if not config.settings.ragEnabled then
    info('ragEnabled is off: context is given only when you ask for it')
  end
  if (config.register == '+' or config.register == '*') and vim.fn.has('clipboard') ~= 1 then
    warn(('register %s needs a clipboard program'):format(config.register), {
      ':help clipboard',
      "or set `register` in require('carrel').setup{}; the unnamed register is always filled",
    })
  end
  start('carrel: server')
  check_server(config)
  check_running()
end

return M
