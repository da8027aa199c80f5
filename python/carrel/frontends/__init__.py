"""The only code that knows a wire format or a terminal: a folder for each front end, and `common` for what they share."""
