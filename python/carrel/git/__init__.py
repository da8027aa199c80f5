"""Answers of git about a folder, read so that nothing of the repository is executed."""
