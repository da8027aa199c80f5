"""The language server: the LSP front end, its messages and their documents."""
