"""What travels in `carrel/*` requests, and which method takes and gives what."""
