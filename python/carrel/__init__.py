"""Carrel: the right pages of your own code, in front of every chat request."""
