"""The configuration files of assistants and agents: where each is, what Carrel enters, and how it comes out again."""
