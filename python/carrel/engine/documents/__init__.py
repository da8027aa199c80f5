"""Documents as a source: which files count, what the text of each is, and how old it is."""
