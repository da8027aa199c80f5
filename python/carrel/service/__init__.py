"""Workspaces and sessions, and the use cases that all front ends share."""
