"""Between values and the wire."""
