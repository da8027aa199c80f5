"""Stores of vectors behind the port `VectorStore`."""
