"""Language clients that know nothing of Carrel."""
