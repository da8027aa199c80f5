"""The Neovim plugin in real Neovims, with the real server."""
