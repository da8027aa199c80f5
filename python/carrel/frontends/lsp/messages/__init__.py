"""Messages of the `carrel/*` requests, and the table of which method takes and gives what."""
