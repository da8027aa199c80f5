"""Connections to MCP servers, whose tools and resources are used."""
