"""The only code that knows a wire format: LSP, command line. Nothing here retrieves."""
