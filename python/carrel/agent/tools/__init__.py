"""The tools that Carrel gives to chat models, behind the port `Tool`. They read the workspace; none changes anything."""
