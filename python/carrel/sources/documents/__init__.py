"""Documents as a source: the text of each, its version and its age."""
