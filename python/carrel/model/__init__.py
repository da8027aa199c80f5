"""Values, ports and errors that every layer shares; no I/O. Only `native` imports the compiled core."""
