"""Where tools are: MCP servers, HTTP services with an OpenAPI document, files."""
