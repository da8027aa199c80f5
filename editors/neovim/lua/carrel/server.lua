-- One language server per project: starts it, keeps it up, and carries requests to it.
local config = require('carrel.config')
local lsp = require('carrel.lsp')
local memory = require('carrel.memory')
local permission = require('carrel.permission')
local progress = require('carrel.progress')
local roots = require('carrel.root')

local M = {}

M.CANCELLED = 'cancelled'

local PARTIAL = 'carrel%-nvim%-partial%-' -- begins the tokens of partial results

local MOST_RESTARTS, WITHIN_SECONDS = 3, 180
local servers = {} -- root -> { root, id, ready, calls, ticks = { buffer -> changedtick } }
local deaths = {} -- root -> times of the last unexpected ends
local next_partial = 0

local function warn(message)
  vim.notify('carrel: ' .. message, vim.log.levels.WARN)
end

local function client_of(server)
  return server and server.id and vim.lsp.get_client_by_id(server.id)
end

local function finish(server, call, err, result)
  if server.calls[call] then
    server.calls[call] = nil
    call.done(err, result)
  end
end

local function cancel_call(server, call)
  local client = client_of(server)
  if server.calls[call] and call.id and lsp.running(client) then
    lsp.cancel(client, call.id)
  end
  finish(server, call, M.CANCELLED, nil)
end

-- Neovim holds edits back for up to 150 ms, and sends those of a buffer before a request about it. An answer depends on every
-- buffer, so each that changed since the last request gets one.
local function send_edits(server, client, current)
  for buffer, sent in pairs(server.ticks) do
    local tick = vim.api.nvim_buf_is_loaded(buffer) and vim.api.nvim_buf_get_changedtick(buffer) or nil
    if tick and tick ~= sent and buffer ~= current then
      lsp.request(client, 'carrel/status', { workspaceFolder = vim.uri_from_fname(server.root) }, function() end, buffer)
    end
    server.ticks[buffer] = tick
  end
end

local function send(server, call)
  local client = client_of(server)
  local buffer = vim.api.nvim_get_current_buf() -- its edits go with the request
  local ok, id = false, nil
  if lsp.running(client) then
    send_edits(server, client, buffer)
    ok, id = lsp.request(client, call.method, call.params, function(err, result)
      finish(server, call, err and (err.message or tostring(err)), result)
    end, buffer)
  end
  if ok then
    call.id = id
  else
    finish(server, call, 'the server is not running; :checkhealth carrel says why', nil)
  end
end

local function attach(server, buffer)
  if not vim.lsp.buf_is_attached(buffer, server.id) then
    vim.lsp.buf_attach_client(buffer, server.id)
    server.ticks[buffer] = vim.api.nvim_buf_get_changedtick(buffer)
  end
end

local function attach_open_buffers(root, server)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and roots.of(buffer) == root then
      attach(server, buffer)
    end
  end
end

-- On one line of 80 columns: a longer one stops the editor until Enter is pressed, before anything was typed.
local WELCOME = 'remember this project? `:Carrel on` indexes it here'

local function welcome(root, status)
  if config.current.welcome and status.state == 'empty' and not memory.is_on(root) and memory.first_time(root) then
    vim.notify('carrel: ' .. WELCOME, vim.log.levels.INFO)
  end
end

local function became_ready(root, server)
  server.ready = true
  attach_open_buffers(root, server)
  for call in pairs(server.calls) do
    send(server, call)
  end
  -- The status line has something to say before the first command. Makes no index.
  M.request(root, 'carrel/status', {}, function(_, status)
    if status then
      progress.set_status(root, status)
      welcome(root, status)
    end
  end, { quiet = true })
end

local function restart_later(root, reason)
  local now, recent = os.time(), {}
  for _, at in ipairs(deaths[root] or {}) do
    if now - at < WITHIN_SECONDS then
      recent[#recent + 1] = at
    end
  end
  recent[#recent + 1] = now
  deaths[root] = recent
  if #recent > MOST_RESTARTS then
    local text = 'the server keeps ending (%s) and is left alone now; see :checkhealth carrel and %s; the next :Carrel command starts it'
    vim.notify('carrel: ' .. text:format(reason, lsp.log_path()), vim.log.levels.ERROR)
  else
    warn(('the server ended unexpectedly (%s) and is started again'):format(reason))
    vim.defer_fn(function()
      M.ensure(root)
    end, 250 * 2 ^ #recent)
  end
end

local function ended(root, server, code, signal)
  if vim.v.exiting ~= vim.NIL then
    return
  end
  if servers[root] == server then
    servers[root] = nil
    progress.clear(root)
  end
  local reason = signal ~= 0 and ('signal %d'):format(signal) or ('exit code %d'):format(code)
  local waiting = next(server.calls) ~= nil
  for call in pairs(server.calls) do
    finish(server, call, server.stopping and M.CANCELLED or ('the server ended (%s) before it answered'):format(reason), nil)
  end
  if server.stopping then
    return
  elseif server.ready then
    restart_later(root, reason)
  elseif not waiting then
    -- Somebody who waits was told already.
    vim.notify(('carrel: the server did not start (%s); see :checkhealth carrel'):format(reason), vim.log.levels.ERROR)
  end
end

local function settings_of(root)
  local settings = memory.settings(root)
  return vim.tbl_isempty(settings) and vim.empty_dict() or settings
end

-- Hands a partial result to the request that it is of.
local function took_partial(server, params)
  for call in pairs(server.calls) do
    if call.partial and params and call.params.partialResultToken == params.token then
      call.partial(params.value)
      return true
    end
  end
  return type(params) == 'table' and tostring(params.token):match('^' .. PARTIAL) ~= nil -- of one that was cancelled
end

local function client_config(root, server)
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.workspace = vim.tbl_deep_extend('force', capabilities.workspace or {}, { configuration = true })
  capabilities.window = vim.tbl_deep_extend('force', capabilities.window or {}, { workDoneProgress = true })
  capabilities.experimental = vim.tbl_deep_extend('force', capabilities.experimental or {}, {
    carrel = { confirm = true, ownSettings = true }, -- settings come from `setup` alone
  })
  local settings = settings_of(root)
  return {
    name = 'carrel',
    cmd = config.current.cmd,
    root_dir = root,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = vim.fn.fnamemodify(root, ':t') } },
    capabilities = capabilities,
    init_options = settings,
    settings = { carrel = settings },
    handlers = {
      ['carrel/statusChanged'] = function(_, status)
        progress.set_status(root, status)
      end,
      ['carrel/confirm'] = function(_, question)
        return permission.decide(question)
      end,
      ['$/progress'] = function(...)
        if took_partial(server, select(2, ...)) then
          return
        end
        progress.on_progress(root, select(2, ...))
        local default = vim.lsp.handlers['$/progress'] -- other plugins draw from what it keeps
        return default and default(...)
      end,
    },
    on_init = function()
      vim.schedule(function()
        if servers[root] == server then
          became_ready(root, server)
        end
      end)
    end,
    on_exit = function(code, signal)
      vim.schedule(function()
        ended(root, server, code, signal)
      end)
    end,
  }
end

--- The server of a root, started if need be; nil and what to do when it can't be started.
function M.ensure(root)
  if lsp.running(client_of(servers[root])) then
    return servers[root]
  end
  local command = config.current.cmd[1]
  if not command or vim.fn.executable(command) ~= 1 then
    local remedy = '%s is not installed: run `pip install /path/to/carrel` with a checkout or a wheel, '
      .. 'or set `cmd` in require("carrel").setup{}; :checkhealth carrel tells more'
    return nil, remedy:format(command or 'cmd')
  end
  local server = { root = root, calls = {}, ticks = {}, ready = false }
  local id, problem = lsp.start(client_config(root, server))
  if not id then
    return nil, ('the server could not be started: %s; see :checkhealth carrel'):format(problem)
  end
  server.id = id
  servers[root] = server
  return server
end

--- Tell the server of a buffer's project about it, so that unsaved text counts. Starts that server.
function M.attach(buffer)
  local root = roots.of(buffer)
  if not root or (memory.chosen(root) == false and not servers[root]) then
    return -- what is off is started by a command only
  end
  local server, problem = M.ensure(root)
  if not server then
    vim.notify_once('carrel: ' .. problem, vim.log.levels.WARN)
  elseif server.ready then
    attach(server, buffer)
  end
end

--- Send a request; `done(error, result)` runs once on the main loop, with the error `CANCELLED` after `cancel`.
--- `options.quiet`: not a person's request, so `cancel` leaves it. `options.partial(value)` gets each partial result before that.
--- Gives a function that cancels it.
function M.request(root, method, params, done, options)
  local server, problem = M.ensure(root)
  if not server then
    done(problem, nil)
    return function() end
  end
  options = options or {}
  params = vim.tbl_extend('keep', params, { workspaceFolder = vim.uri_from_fname(root) })
  if options.partial then
    next_partial = next_partial + 1
    params.partialResultToken = ('carrel-nvim-partial-%d'):format(next_partial)
  end
  local call = { method = method, params = params, done = done, quiet = options.quiet, partial = options.partial }
  server.calls[call] = true
  if server.ready then
    attach_open_buffers(root, server)
    send(server, call)
  end
  return function()
    cancel_call(server, call)
  end
end

--- Cancel what a person asked for and every index run that shows progress; how many things that were.
function M.cancel(root)
  local server = servers[root]
  local client = client_of(server)
  local stopped, own = 0, {}
  for call in pairs(server and server.calls or {}) do
    if not call.quiet then
      stopped = stopped + 1
      own[call.params.workDoneToken or ''] = true
      cancel_call(server, call)
    end
  end
  for _, token in ipairs(progress.tokens(root)) do
    if not own[token] and lsp.running(client) then
      stopped = stopped + 1
      lsp.notify(client, 'window/workDoneProgress/cancel', { token = token })
    end
  end
  return stopped
end

--- Roots whose servers run, with whether each is ready.
function M.list()
  local found = {}
  for root, server in pairs(servers) do
    if lsp.running(client_of(server)) then
      found[root] = server.ready
    end
  end
  return found
end

--- Have a root's server work by the person's choice from now on, if it runs.
function M.configure(root)
  local client = client_of(servers[root])
  if lsp.running(client) then
    lsp.configure(client, settings_of(root))
  end
end

--- End the server of a root; the next command starts anew.
function M.stop(root)
  local server = servers[root]
  if not server then
    return
  end
  server.stopping = true
  servers[root] = nil
  progress.clear(root)
  local client = client_of(server)
  if lsp.running(client) then
    lsp.stop(client)
  end
end

--- End every server; the next command starts anew.
function M.stop_all()
  for _, root in ipairs(vim.tbl_keys(servers)) do
    M.stop(root)
  end
end

return M
