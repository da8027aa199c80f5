"""Commands that start a front end."""
