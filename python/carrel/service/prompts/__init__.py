"""Prompts of agents in a terminal: a prompt with the turns before it in, what is put beside it out, nothing for most of them."""
