"""What can be typed of `carrel ask | chat | review`."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from carrel.frontends.cli.arguments.argument_types import ASSESS, add_json, positive, query

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    _Commands: TypeAlias = _SubParsersAction[ArgumentParser]


def add_conversations(commands: _Commands) -> None:
    """Add the commands that ask a chat model."""
    ask = commands.add_parser(
        "ask",
        help="have the chat model that is set answer a question about the code, with checked citations",
        description="Have the chat model that is set answer a question about the code. It gets context first and may then search "
        "and read; each place that it cites is checked against what it was given.",
        epilog='example:\n  carrel ask "where are retries limited?" --path ~/code/project',
        formatter_class=RawDescriptionHelpFormatter,
    )
    ask.add_argument("query", type=query, metavar="QUESTION")
    ask.add_argument("--assess", action="store_true", help=ASSESS)
    _common(ask)
    add_json(ask)

    chat = commands.add_parser(
        "chat",
        help="talk with the chat model that is set about the code",
        description="Talk with the chat model that is set about the code. /quit ends it; Ctrl-C stops an answer.",
        epilog="example:\n  carrel chat --path ~/code/project",
        formatter_class=RawDescriptionHelpFormatter,
    )
    _common(chat)

    review = commands.add_parser(
        "review",
        help="have the chat model that is set say what an issue takes",
        description="Have the chat model that is set search the code and say what an issue takes.",
        epilog='example:\n  gh issue view 12 --json body -q .body | carrel review "Login fails for umlauts" --body -',
        formatter_class=RawDescriptionHelpFormatter,
    )
    review.add_argument("title", type=query, metavar="TITLE", help="the issue in a line")
    review.add_argument("--body", metavar="FILE", help='a file with the rest of it; "-" for standard input')
    _common(review)
    add_json(review)


def _common(command: ArgumentParser) -> None:
    command.add_argument("--path", type=Path, default=Path(), metavar="PATH", help="the folder of code (the current one)")
    command.add_argument("--model", metavar="NAME", help="another model of the provider that is set")
    command.add_argument("--max-tokens", type=positive, metavar="N", help="tokens that the model takes (what its settings say)")
    command.add_argument("--steps", action="store_true", help="show each step: what the model is asked and which tools it calls")
