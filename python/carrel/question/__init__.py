"""A question's text in, what it names and refers to out. Knows no index but by evidence that is handed in."""
