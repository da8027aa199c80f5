-- The calls of `vim.lsp` that changed between Neovim 0.7 and today. Nothing else in the plugin asks for a version.
local M = {}

local methods = vim.fn.has('nvim-0.11') == 1 -- clients became objects; their old functions warn
local uv = vim.uv or vim.loop

M.stat = uv.fs_stat

--- Start a client without attaching a buffer; its id, or nil and the reason.
function M.start(config)
  local ok, id
  if methods then
    local function never_reuse()
      return false
    end
    ok, id = pcall(vim.lsp.start, config, { attach = false, reuse_client = never_reuse })
  else
    -- `vim.lsp.start` of 0.8 to 0.10 always attaches the current buffer, which may be of another project.
    ok, id = pcall(vim.lsp.start_client, config)
  end
  if ok and id then
    return id
  end
  return nil, ok and 'it could not be run' or tostring(id)
end

local function call(client, name, ...)
  if methods then
    return client[name](client, ...)
  end
  return client[name](...)
end

function M.request(client, method, params, handler, buffer)
  return call(client, 'request', method, params, handler, buffer)
end

function M.notify(client, method, params)
  return call(client, 'notify', method, params)
end

function M.cancel(client, request_id)
  return call(client, 'cancel_request', request_id)
end

--- Have the server use other settings: those that it asks for, and word that they changed.
function M.configure(client, settings)
  client.config.settings = { carrel = settings }
  if client.settings then
    client.settings = client.config.settings
  end
  M.notify(client, 'workspace/didChangeConfiguration', { settings = client.config.settings })
end

function M.stop(client)
  return call(client, 'stop')
end

function M.running(client)
  return client ~= nil and not call(client, 'is_stopped')
end

--- Where Neovim writes what the server says on stderr.
function M.log_path()
  return require('vim.lsp.log').get_filename()
end

return M
