"""The `carrel/*` requests: decode, call, encode."""
