"""`carrel demo`."""
