"""What can be typed after `carrel store` and `carrel selftest`."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING, TypeAlias

from carrel.frontends.cli.arguments.argument_types import add_json, path
from carrel.model.store_kinds import KINDS

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    _Commands: TypeAlias = _SubParsersAction[ArgumentParser]


def add_store(commands: _Commands) -> None:
    """Add `carrel store`."""
    store = commands.add_parser("store", help="where vectors are kept besides the index: state, change, comparison")
    actions = store.add_subparsers(dest="action", required=True, metavar="ACTION")

    status = actions.add_parser("status", help="open the store and say what it holds and what waits")
    _path(status)

    migrate = actions.add_parser(
        "migrate",
        help="fill another store with the vectors of this folder's index, and set it",
        description="Fill another store from the index's own vectors: nothing is embedded again. A run that was stopped "
        "or killed goes on where it was. When the store holds everything it is written into your settings.",
        epilog="examples:\n  carrel store migrate lancedb\n  carrel store migrate qdrant --url http://localhost:6333\n"
        "  carrel store migrate segments",
        formatter_class=RawDescriptionHelpFormatter,
    )
    migrate.add_argument(
        "kind", help=f"the store to fill: {', '.join(KINDS)}, or what an installed package offers; `segments` is the index alone"
    )
    _path(migrate)
    migrate.add_argument("--url", default="", help="of Qdrant's server, or of LanceDB's object store")
    migrate.add_argument("--key", default="", metavar="PLACE", help="where its key is: env:NAME, keyring or none")
    migrate.add_argument("--collection", default="", metavar="NAME", help="in place of `carrel-…`")
    migrate.add_argument("--delete-old", action="store_true", help="delete this folder's vectors from the former store")

    verify = actions.add_parser(
        "verify",
        help="compare the ids of all vectors in the store with those of the index; exit code 1 where they differ",
        epilog="example:\n  carrel store verify --mend",
        formatter_class=RawDescriptionHelpFormatter,
    )
    _path(verify)
    verify.add_argument("--mend", action="store_true", help="add what is missing there, and delete what is too much")

    install = actions.add_parser(
        "install",
        help="download Qdrant's program for this machine, after you agreed to it at the terminal",
        description="Download Qdrant's program from its releases on GitHub, checked against the digest published there.",
        epilog="example:\n  carrel store install",
        formatter_class=RawDescriptionHelpFormatter,
    )
    install.add_argument("--digest", metavar="SHA256", help="of the archive, in place of the published one")
    for command in (status, migrate, verify, install):
        add_json(command)


def add_selftest(commands: _Commands) -> None:
    """Add `carrel selftest`."""
    selftest = commands.add_parser(
        "selftest",
        help="try the remote parts in ten checks: Copilot's token and embeddings, and the Qdrant server",
        description="Run ten checks. Those that need GitHub run against a stand-in on this machine, or with --live against "
        "GitHub itself with your own token; those of Qdrant run against the real program, where there is one.",
        epilog="examples:\n  carrel selftest\n  carrel selftest --live --json",
        formatter_class=RawDescriptionHelpFormatter,
    )
    selftest.add_argument("--live", action="store_true", help="ask GitHub itself, with the token that Copilot's plugins keep")
    selftest.add_argument("--qdrant", type=path, metavar="PROGRAM", help="Qdrant's program, in place of the one that is found")
    add_json(selftest)


def _path(command: ArgumentParser) -> None:
    command.add_argument("--path", type=path, default=path("."), metavar="FOLDER", help="the project (this folder)")
