"""Values, ports and errors that every layer shares; no state. Only `native` imports the compiled core."""
