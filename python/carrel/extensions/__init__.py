"""Optional parts behind ports. `composition` makes them; `carrel.rag` those of `rag`."""
