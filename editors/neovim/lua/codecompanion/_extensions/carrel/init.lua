-- CodeCompanion finds this by itself: `extensions = { carrel = {} }` in its setup gives chats the slash command `/carrel`.
local M = {}

local function insert(chat)
  vim.ui.input({ prompt = 'Context for: ' }, function(question)
    if question and question ~= '' then
      M.exports.add(chat, question)
    end
  end)
end

--- Called by CodeCompanion.
function M.setup()
  local settings = require('codecompanion.config')
  local chat = (settings.interactions or settings.strategies).chat -- renamed in CodeCompanion 18
  chat.slash_commands.carrel = {
    description = "Add the parts of this project's code that answer a question",
    callback = insert,
    opts = { contains_code = true },
  }
end

M.exports = {
  --- Add the context for a question to a chat.
  add = function(chat, question)
    require('carrel').context(question, function(pack)
      if pack.text == '' then
        vim.notify('carrel: ' .. require('carrel.words').NOTHING_FITS)
      else
        require('carrel.chat').add_to_codecompanion(chat, pack)
      end
    end, { history = require('carrel.chat').history(chat) })
  end,
}

return M
