"""Retrieval for any agent (spec E), over plain objects or Carrel's ports; `carrel.rag` is its public face."""
