"""An HTTP proxy in front of a chat API. Everything passes as it is, but the last question, which gets its pages."""
