-- The `:Carrel` command. Nothing is loaded or started before it is used or `require('carrel').setup()` is called.
if vim.g.loaded_carrel then
  return
end
vim.g.loaded_carrel = true

vim.api.nvim_create_user_command('Carrel', function(args)
  local lines = args.range > 0 and { args.line1, args.line2 } or nil
  require('carrel.commands').run(args.fargs, args.bang, lines)
end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = "Ask Carrel about this project's code",
  complete = function(lead, line)
    return require('carrel.commands').complete(lead, line)
  end,
})
