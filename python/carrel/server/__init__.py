"""State: workspaces, jobs, settings, wiring. No wire types."""
