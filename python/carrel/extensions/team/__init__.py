"""Vectors that are paid for once: the user's cache, and the team's."""
