"""What can be typed after `carrel sources`."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from carrel.frontends.cli.argument_types import add_json, path, positive

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    _Commands: TypeAlias = _SubParsersAction[ArgumentParser]


def add_sources(commands: _Commands) -> None:
    """Add the command."""
    sources = commands.add_parser("sources", help="choose what is searched beside the workspace: documents, git history")
    actions = sources.add_subparsers(dest="action", required=True, metavar="ACTION")

    added = actions.add_parser(
        "add",
        help="name a source, in your settings file",
        epilog="examples:\n  carrel sources add runbooks ~/ops/runbooks --outdated-after 365\n  carrel sources add history --git",
        formatter_class=RawDescriptionHelpFormatter,
    )
    added.add_argument("id", metavar="ID", help="what it is called: small letters, digits, - and _")
    added.add_argument("folder", nargs="?", type=path, metavar="FOLDER", help="the folder; with --git the workspace's by default")
    added.add_argument("--git", action="store_true", help="the history of a repository, in place of documents")
    added.add_argument("--description", metavar="TEXT", help="one line on what it holds, for whoever chooses between sources")
    added.add_argument("--outdated-after", type=positive, metavar="DAYS", help="mark documents that are older as outdated")
    add_json(added)

    removed = actions.add_parser(
        "remove",
        help="search it no more, and delete what is kept of it",
        epilog="example:\n  carrel sources remove runbooks",
        formatter_class=RawDescriptionHelpFormatter,
    )
    removed.add_argument("id", metavar="ID")
    add_json(removed)

    listed = actions.add_parser(
        "list",
        help="show every source with its state",
        epilog="example:\n  carrel sources list --index",
        formatter_class=RawDescriptionHelpFormatter,
    )
    listed.add_argument("--path", type=path, default=Path(), metavar="PATH", help="the workspace folder (the current one)")
    listed.add_argument("--index", action="store_true", help="bring the index of each up to date before")
    add_json(listed)
