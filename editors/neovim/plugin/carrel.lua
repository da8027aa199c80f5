-- The `:Carrel` command. Nothing is loaded or started before it is used or `require('carrel').setup()` is called.
if vim.g.loaded_carrel then
  return
end
vim.g.loaded_carrel = true

vim.api.nvim_create_user_command('Carrel', function(args)
  require('carrel.commands').run(args.fargs, args.bang)
end, {
  nargs = '*',
  bang = true,
  desc = "Ask Carrel about this project's code",
  complete = function(lead, line)
    return require('carrel.commands').complete(lead, line)
  end,
})
