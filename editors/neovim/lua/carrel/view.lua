-- Scratch windows and pickers: the only place that draws.
local M = {}

--- Show lines in a scratch split that `q` closes.
function M.show(title, lines, filetype)
  vim.cmd('botright new')
  local buffer = vim.api.nvim_get_current_buf()
  vim.bo[buffer].buftype = 'nofile'
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].swapfile = false
  pcall(vim.api.nvim_buf_set_name, buffer, ('carrel://%s/%d'):format(title, buffer))
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].filetype = filetype or 'markdown'
  vim.api.nvim_buf_set_keymap(buffer, 'n', 'q', '<cmd>close<cr>', { nowait = true, silent = true })
  return buffer
end

function M.open(hit)
  vim.cmd('edit ' .. vim.fn.fnameescape(vim.uri_to_fname(hit.uri)))
  vim.api.nvim_win_set_cursor(0, { math.min(hit.startLine, vim.api.nvim_buf_line_count(0)), 0 })
end

local function label(hit)
  local symbol = hit.symbol and hit.symbol ~= '' and ('  ' .. hit.symbol) or ''
  return ('%.2f  %s:%d-%d%s'):format(hit.score, hit.path, hit.startLine, hit.endLine, symbol)
end

--- Let the user choose a hit (vim.ui.select, so Telescope, fzf-lua and others take part) and open it.
function M.pick(hits)
  vim.ui.select(hits, { prompt = 'Carrel', kind = 'carrel', format_item = label }, function(hit)
    if hit then
      M.open(hit)
    end
  end)
end

--- The receipt of a pack: what was put in front, why, and what was left out.
function M.receipt_lines(pack)
  local lines = {
    '# What Carrel gives for: ' .. pack.query,
    '',
    ('%d of %d %s, %d places, %.0f ms, index %s'):format(pack.tokens, pack.budgetTokens or pack.tokens, 'tokens', #pack.hits, pack.elapsedMs, pack.state),
  }
  if pack.error then
    lines[#lines + 1] = 'Problem: ' .. pack.error
  end
  lines[#lines + 1] = ''
  for _, hit in ipairs(pack.hits) do
    local matched = hit.signals and hit.signals.matched
    local words = matched and #matched > 0 and ('  (' .. table.concat(matched, ', ') .. ')') or ''
    lines[#lines + 1] = '- ' .. label(hit) .. words
  end
  if #pack.dropped > 0 then
    lines[#lines + 1] = ''
    lines[#lines + 1] = '## Left out'
    for _, item in ipairs(pack.dropped) do
      lines[#lines + 1] = ('- %s:%d-%d: %s'):format(item.path, item.startLine, item.endLine, item.reason)
    end
  end
  lines[#lines + 1] = ''
  lines[#lines + 1] = '## Text'
  lines[#lines + 1] = ''
  vim.list_extend(lines, vim.split(pack.text, '\n', { plain = true }))
  return lines
end

return M
