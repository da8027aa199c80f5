"""What can be typed after `carrel audit`."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from carrel.frontends.cli.argument_types import add_json, positive

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    _Commands: TypeAlias = _SubParsersAction[ArgumentParser]


def add_audit(commands: _Commands) -> None:
    """Add the command."""
    audit = commands.add_parser(
        "audit",
        help="read what was given to whom",
        description="Read what was selected, sent and done, by whom and when. Of texts the log has hashes and sizes.",
        epilog="examples:\n  carrel audit --since 1d --kind sent\n  carrel audit --export audit.jsonl\n  carrel audit --verify",
        formatter_class=RawDescriptionHelpFormatter,
    )
    audit.add_argument("--since", metavar="TIME", help="a span such as 12h or 7d, or a date")
    audit.add_argument("--kind", metavar="KIND", help="only context, search, tool, answer, sent or permission, for example")
    audit.add_argument("--limit", type=positive, default=50, metavar="N", help="entries at most, the newest (50)")
    what = audit.add_mutually_exclusive_group()
    what.add_argument("--export", type=Path, metavar="FILE", help="write all of them into a new file, as JSON lines")
    what.add_argument("--verify", action="store_true", help="check that every entry is as it was written")
    audit.add_argument("--known", metavar="HEAD", help="with --verify: a head that was shown before, which must still be there")
    add_json(audit)
