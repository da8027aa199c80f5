-- Neovim's Lua is LuaJIT, with one global of its own.
std = 'luajit'
max_line_length = 150
globals = { 'vim' }
