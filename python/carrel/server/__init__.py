"""State: workspaces, jobs, settings, composition. No wire types."""
