"""Agents of the terminal: each prompt comes in by a hook, and goes on with what the index holds for it."""
