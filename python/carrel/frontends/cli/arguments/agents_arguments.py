"""What can be typed after `carrel agents`."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING, TypeAlias

from carrel.frontends.cli.arguments.argument_types import add_json

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    _Commands: TypeAlias = _SubParsersAction[ArgumentParser]


def add_agents(commands: _Commands) -> None:
    """Add the command."""
    agents = commands.add_parser("agents", help="put context in front of the prompts of agents in a terminal")
    actions = agents.add_subparsers(dest="action", required=True, metavar="ACTION")
    last = actions.add_parser("last", help="show what was added to the last prompts")
    add_json(last)
    actions.add_parser("serve")  # without help it isn't listed: the first prompt starts it
