"""What git tells of a folder, read so that nothing of the repository is executed."""
