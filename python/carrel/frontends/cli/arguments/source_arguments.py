"""What can be typed after `carrel sources` and `carrel publish`."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from carrel.frontends.cli.arguments.argument_types import add_json, path, positive

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    _Commands: TypeAlias = _SubParsersAction[ArgumentParser]


def add_sources(commands: _Commands) -> None:
    """Add the command."""
    sources = commands.add_parser(
        "sources", help="choose what is searched beside the workspace: documents, git history, repositories"
    )
    actions = sources.add_subparsers(dest="action", required=True, metavar="ACTION")

    added = actions.add_parser(
        "add",
        help="add a source to your settings file, or change one",
        description="Add a source to your settings file. Of one that is there already, only what you give is changed.",
        epilog="examples:\n  carrel sources add runbooks ~/ops/runbooks --outdated-after 365\n  carrel sources add history --git"
        "\n  carrel sources add wiki mcp://wiki           resources of the MCP server `wiki` of `carrel tools`"
        "\n  carrel sources add notes mcp://wiki/note://  those whose URI begins with note://"
        "\n  carrel sources add qdrant://qdrant.example.com:6333/billing --key env:QDRANT_API_KEY",
        formatter_class=RawDescriptionHelpFormatter,
    )
    added.add_argument(
        "id", metavar="ID", help="what it is called: small letters, digits, - and _; a repository or server may do without"
    )
    added.add_argument(
        "folder",
        nargs="?",
        metavar="PLACE",
        help="the folder, with --git the workspace's by default; mcp://SERVER; or qdrant://HOST:PORT/NAME",
    )
    added.add_argument("--key", metavar="PLACE", help="where the key of a repository's server is: env:NAME, keyring or none")
    added.add_argument("--git", action="store_true", help="the history of a repository, in place of documents")
    added.add_argument("--description", metavar="TEXT", help="one line on what it holds, for whoever chooses between sources")
    added.add_argument("--outdated-after", type=positive, metavar="DAYS", help="mark documents that are older as outdated")
    add_json(added)

    removed = actions.add_parser(
        "remove",
        help="take a source out of your settings file, and delete what Carrel keeps of it",
        epilog="example:\n  carrel sources remove runbooks",
        formatter_class=RawDescriptionHelpFormatter,
    )
    removed.add_argument("id", metavar="ID", help="what `carrel sources list` calls it")
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


def add_publish(commands: _Commands) -> None:
    """Add `carrel publish`."""
    publish = commands.add_parser(
        "publish",
        help="put a repository's index on a Qdrant server, to be searched without a checkout",
        description="Index a repository and publish what changed. What is there stays visible until all of the new state is. "
        "A run that was stopped or killed is taken up by the next one.",
        epilog="example:\n  carrel publish --repo billing --to qdrant://qdrant.example.com:6333 --text no",
        formatter_class=RawDescriptionHelpFormatter,
    )
    publish.add_argument("--repo", required=True, metavar="NAME", help="what it is called there, such as billing or acme/billing")
    publish.add_argument("--to", metavar="URL", help="the server, qdrant://HOST:PORT; by default that of the setting `store`")
    publish.add_argument("--text", choices=("yes", "no"), default="yes", help="publish the text of chunks, or their places alone")
    publish.add_argument("--key", default="", metavar="PLACE", help="where the server's key is: env:NAME, keyring or none")
    publish.add_argument("--allow-dirty", action="store_true", help="publish files that differ from the commit as they are")
    publish.add_argument("--path", type=path, default=Path(), metavar="PATH", help="the repository's folder (the current one)")
    add_json(publish)
