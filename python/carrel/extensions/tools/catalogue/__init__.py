"""Descriptions of tools: read, checked, searched and exported."""
