"""Commands that ask the index."""
