"""`carrel mcp`: the tools and pages of an index for assistants that speak the Model Context Protocol.

`messages` says what is sent, `tools` and `resources` answer, `folders` knows the workspaces, `server` puts them into the
official SDK's server, `stdio` and `http` carry it. Only these four last ones import the SDK, an optional extra.
`clients`, `jsonc` and `install` write assistants' configuration files, and need nothing.
"""
