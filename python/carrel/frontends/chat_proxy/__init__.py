"""An HTTP proxy in front of a chat API. Everything passes as it is; only the last question gets its context."""
