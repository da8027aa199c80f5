"""The tool catalogue: reading descriptions of tools, finding the few that fit a request, and exporting them for models."""
