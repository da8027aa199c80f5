"""One index: where it lives, how it is opened and filled, what it is at a moment, and its copy in a store elsewhere."""
