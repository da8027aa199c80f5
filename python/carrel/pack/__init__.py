"""Hits in, one text within a budget out."""
