"""A question's text in, what it names and refers to, and its embedding, out. Knows no index but by evidence that is handed in."""
