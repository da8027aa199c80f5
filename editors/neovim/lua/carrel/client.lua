-- Starts one language server per project root and sends it Carrel's requests. Works from Neovim 0.7 on, where `vim.lsp.start` is missing.
local config = require('carrel.config')

local M = {}
local clients = {} -- root -> client id

local function is_directory(path)
  local stat = vim.loop.fs_stat(path)
  return stat ~= nil and stat.type == 'directory'
end

--- The nearest folder above `path` that holds one of the root markers, else the current folder.
function M.root(path)
  local folder = path ~= '' and vim.fn.fnamemodify(path, ':p:h') or vim.fn.getcwd()
  local current = folder
  while current and current ~= '' do
    for _, marker in ipairs(config.current.root_markers) do
      if vim.loop.fs_stat(current .. '/' .. marker) then
        return current
      end
    end
    local parent = vim.fn.fnamemodify(current, ':h')
    if parent == current then
      break
    end
    current = parent
  end
  return is_directory(folder) and folder or vim.fn.getcwd()
end

local function settings()
  return { carrel = config.current.settings }
end

local function client_config(root)
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.workspace = vim.tbl_deep_extend('force', capabilities.workspace or {}, { configuration = true, didChangeConfiguration = { dynamicRegistration = false } })
  capabilities.window = vim.tbl_deep_extend('force', capabilities.window or {}, { workDoneProgress = true })
  return {
    name = 'carrel',
    cmd = config.current.cmd,
    root_dir = root,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = vim.fn.fnamemodify(root, ':t') } },
    capabilities = capabilities,
    init_options = config.current.settings,
    settings = settings(),
    handlers = {
      ['carrel/statusChanged'] = function(_, status)
        require('carrel.progress').set_status(root, status)
      end,
      ['$/progress'] = function(...)
        require('carrel.progress').on_progress(root, ...)
        local default = vim.lsp.handlers['$/progress']
        if default then
          return default(...)
        end
      end,
    },
    on_exit = function(code, signal)
      clients[root] = nil
      if code ~= 0 and signal == 0 then
        vim.schedule(function()
          vim.notify(('carrel: the server ended with code %d; see :checkhealth carrel'):format(code), vim.log.levels.ERROR)
        end)
      end
    end,
  }
end

--- The running client of a root, started if need be; nil and a message when it can't be started.
function M.ensure(root)
  local id = clients[root]
  local client = id and vim.lsp.get_client_by_id(id)
  if client and not client.is_stopped() then
    return client
  end
  if vim.fn.executable(config.current.cmd[1]) ~= 1 then
    return nil, ('%q is not on PATH: install it with `pip install carrel`, or set `cmd` in require("carrel").setup{}'):format(config.current.cmd[1])
  end
  id = vim.lsp.start_client(client_config(root))
  if not id then
    return nil, 'the server could not be started; see :checkhealth carrel'
  end
  clients[root] = id
  return vim.lsp.get_client_by_id(id)
end

--- Tell the server about a buffer, so that unsaved text counts.
function M.attach(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  if name == '' or vim.bo[buffer].buftype ~= '' or name:match('^%w+://') then
    return
  end
  local client = M.ensure(M.root(name))
  if client then
    vim.lsp.buf_attach_client(buffer, client.id)
  end
end

local function attach_open_buffers(root)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and vim.api.nvim_buf_get_name(buffer):sub(1, #root + 1) == root .. '/' then
      M.attach(buffer)
    end
  end
end

--- Send a request; `done(error, result)` runs on the main loop. Returns a function that cancels it.
function M.request(method, params, done)
  local root = M.root(vim.api.nvim_buf_get_name(0))
  local client, problem = M.ensure(root)
  if not client then
    done(problem, nil)
    return function() end
  end
  attach_open_buffers(root)
  params = vim.tbl_extend('keep', params or {}, { workspaceFolder = vim.uri_from_fname(root) })
  local cancelled = false
  local request_id
  local function send()
    if cancelled then
      return
    end
    local _, id = client.request(method, params, function(err, result)
      done(err and (err.message or tostring(err)), result)
    end, 0)
    request_id = id
  end
  -- `request` before the handshake is refused; wait for it without blocking the editor.
  local function when_ready(tries)
    if client.initialized or client.server_capabilities and next(client.server_capabilities) then
      send()
    elseif tries > 200 or client.is_stopped() then
      done('the server did not answer; see :checkhealth carrel', nil)
    else
      vim.defer_fn(function()
        when_ready(tries + 1)
      end, 25)
    end
  end
  when_ready(0)
  return function()
    cancelled = true
    if request_id then
      client.cancel_request(request_id)
    end
  end
end

function M.stop_all()
  for _, id in pairs(clients) do
    vim.lsp.stop_client(id)
  end
  clients = {}
end

return M
