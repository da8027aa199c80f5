"""Commands about the index of a folder."""
