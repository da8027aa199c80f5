"""Models and remote services behind the ports of `model`."""
