"""`carrel mcp`: the tools and pages of an index for assistants that speak the Model Context Protocol.

`messages` says what is sent, `tools` and `resources` answer, `server_info` says who answers, `folders` knows the workspaces.
`early_responder` has the standard streams, reads `client_messages` from them and answers before the rest is loaded: `server`
puts the answers into the official SDK's server, `serve` runs it. Only these two import the SDK, an optional extra.
"""
