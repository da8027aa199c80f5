"""Optional parts behind ports. `composition` alone makes them."""
