"""The loop of a chat model with tools, the reviewer and the answers built on it, and the citations in them."""
