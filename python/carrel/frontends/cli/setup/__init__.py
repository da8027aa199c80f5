"""Commands that change what the person has set up."""
