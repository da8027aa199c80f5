"""Tools of others: what a person approved of them, and runs of them."""
