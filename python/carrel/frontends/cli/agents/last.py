"""`carrel agents last`: what was added to the last prompts."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from carrel.frontends.cli.terminal.output import Output


def run(arguments: Namespace, output: Output) -> int:  # noqa: ARG001 - every command has this shape
    """Show the last additions, newest last."""
    from carrel.service.prompts.additions import recent

    additions = recent()
    if output.json:
        output.value([asdict(one) for one in additions])
        return 0
    for one in additions:
        output.text(f"{one.at}  {one.agent:<12}  {one.session:<8}  {one.places} places, {one.tokens:,} tokens")
    if not additions:
        output.note("Nothing was added to a prompt yet.")
    return 0
