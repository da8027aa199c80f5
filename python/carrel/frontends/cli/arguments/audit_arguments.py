"""What can be typed after `carrel audit`."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from carrel.frontends.cli.arguments.argument_types import add_json, positive
from carrel.model.audit_kinds import KINDS

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    _Commands: TypeAlias = _SubParsersAction[ArgumentParser]


def add_audit(commands: _Commands) -> None:
    """Add the command."""
    audit = commands.add_parser(
        "audit",
        help="show what was given to whom, and what left the machine",
        description="Show what was selected, sent and done, by whom and when. Of texts the log has hashes and sizes.",
        epilog="examples:\n  carrel audit --since 1d --kind sent\n  carrel audit --export audit.jsonl\n  carrel audit --verify",
        formatter_class=RawDescriptionHelpFormatter,
    )
    audit.add_argument("--since", metavar="TIME", help="entries since then alone: a span such as 12h or 7d, or a date")
    audit.add_argument("--kind", choices=KINDS, metavar="KIND", help=f"entries of this kind alone: {', '.join(KINDS)}")
    audit.add_argument("--limit", type=positive, default=50, metavar="N", help="show the newest N entries (50)")
    what = audit.add_mutually_exclusive_group()
    what.add_argument("--export", type=Path, metavar="FILE", help="write all entries into a new file, as JSON lines")
    what.add_argument("--verify", action="store_true", help="check that every entry is as it was written")
    audit.add_argument("--known", metavar="HEAD", help="with --verify: a head that was shown before, which must still be there")
    add_json(audit)
