"""`carrel agents ACTION`, as typed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from importlib import import_module

from carrel.frontends.cli.terminal.output import Output

_ACTIONS = {
    "install": "install",
    "last": "last",
    "serve": "serve",
    "status": "install",
    "uninstall": "install",
}
"""The module of each action, in this folder."""


def run(arguments: Namespace, output: Output) -> int:
    """Run one action."""
    act: Callable[[Namespace, Output], int] = import_module(f"carrel.frontends.cli.agents.{_ACTIONS[arguments.action]}").run
    return act(arguments, output)
