"""The arguments of `carrel agents`."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from carrel.frontends.cli.arguments.argument_types import add_json, path

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    _Commands: TypeAlias = _SubParsersAction[ArgumentParser]


AGENTS = ("claude-code", "codex", "gemini", "copilot", "opencode", "qwen", "cursor", "vscode")


def add_agents(commands: _Commands) -> None:
    """Add the command."""
    agents = commands.add_parser("agents", help="put context in front of the prompts of agents in a terminal")
    actions = agents.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text in (
        ("install", "enter Carrel in agents' settings: its MCP server, and a hook that adds context to each prompt"),
        ("uninstall", "take it out again, and leave the files as they were"),
        ("status", "say which agents are here, and where Carrel is installed"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument(
            "agent",
            nargs="?",
            choices=(*AGENTS, "all"),
            default="all",
            metavar="AGENT",
            help=f"{', '.join(AGENTS)}, or all (those of a terminal that are here)",
        )
        scope = action.add_mutually_exclusive_group()
        scope.add_argument("--global", dest="scope", action="store_const", const="global", help="the user's settings (default)")
        scope.add_argument("--workspace", dest="scope", action="store_const", const="workspace", help="those of a folder")
        action.add_argument("--path", type=path, default=Path(), metavar="PATH", help="with --workspace: the folder (current)")
        if name != "status":
            action.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
        if name == "install":
            action.add_argument("--yes", action="store_true", help="write without asking")
        add_json(action)
    last = actions.add_parser("last", help="show what was added to the last prompts")
    add_json(last)
    actions.add_parser("serve")  # without help it isn't listed: the first prompt starts it
