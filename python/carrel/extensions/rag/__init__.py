"""Retrieval for any agent (spec E), over plain objects or ports; `carrel.rag` is its public face."""
