"""`carrel serve`: the language server."""

from __future__ import annotations

from argparse import Namespace

from carrel.frontends.cli.terminal.output import Output


def run(arguments: Namespace, output: Output) -> int:  # noqa: ARG001 - every command has this shape
    """Speak LSP on standard input and output until the editor ends it."""
    from carrel.frontends.lsp.serve import main

    main()
    return 0
