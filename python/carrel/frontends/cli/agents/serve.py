"""`carrel agents serve`: the server behind the hooks, which the first prompt starts."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from carrel.frontends.cli.terminal.output import Output


def run(arguments: Namespace, output: Output) -> int:  # noqa: ARG001 - every command has this shape
    """Serve this user's hooks until none came for a while."""
    from carrel.frontends.agents.serve import serve

    return serve()
