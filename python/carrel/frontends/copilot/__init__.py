"""A stdio proxy in front of the Copilot Language Server. Standard library only: it must start at once and never be in the way."""
