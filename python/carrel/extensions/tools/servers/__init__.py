"""Connections to tools: MCP servers, HTTP services with an OpenAPI document, files."""
