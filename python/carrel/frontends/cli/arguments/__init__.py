"""Arguments of every command."""
