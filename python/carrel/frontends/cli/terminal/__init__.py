"""Input and output at a terminal."""
