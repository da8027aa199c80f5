"""`carrel agents`: Carrel beside agents of the terminal."""
