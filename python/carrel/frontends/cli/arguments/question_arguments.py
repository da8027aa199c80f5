"""Declare the commands that search, and those that ask a chat model."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from carrel.frontends.cli.arguments.argument_types import Commands, add_json, path, place, positive, query

ASSESS = "have the chat model that is set say whether what was found is enough, and search on until it is"


def add_searches(commands: Commands) -> None:
    """Add the commands that search."""
    search = commands.add_parser("search", help="find code by words, a question or an identifier")
    _query(search)
    search.add_argument("--limit", type=positive, metavar="N", help="hits at most (10; few where the search isn't sure)")
    search.add_argument(
        "--format", choices=("full", "places"), default="full", help="places: path, lines and symbol alone, a line each (full)"
    )
    search.add_argument("--last-change", action="store_true", help="say which commit changed each of the first 10 hits last")
    search.add_argument("--assess", action="store_true", help=ASSESS)
    _history(search)
    _filters(search)
    add_json(search)

    context = commands.add_parser("context", help="print the context that a chat request would get")
    _query(context)
    budget = context.add_mutually_exclusive_group()
    budget.add_argument("--tokens", type=positive, metavar="N", help="at most N tokens, everything counted")
    budget.add_argument("--chars", type=positive, metavar="N", help="at most N characters, everything counted (4000)")
    context.add_argument("--top-k", type=positive, metavar="N", help="hits at most (setting ragTopK)")
    context.add_argument(
        "--format", choices=("xml", "source", "tool", "places"), default="xml", help="the form of the text (xml)"
    )
    _history(context)
    _filters(context)
    add_json(context)

    files = commands.add_parser("files", help="find the files that answer a query best")
    _query(files)
    files.add_argument("--limit", type=positive, default=5, metavar="N", help="files at most (5)")
    _filters(files)
    add_json(files)

    localize = commands.add_parser(
        "localize",
        help="find the files and functions that an issue is about",
        description="Find the files and functions that an issue, an error report or a stack trace is about, best first.",
        epilog="example:\n  gh issue view 1234 | carrel localize - --path ~/code/project",
    )
    source = localize.add_mutually_exclusive_group(required=True)
    source.add_argument("text", nargs="?", metavar="TEXT", help='the text, of any length; "-" for standard input')
    source.add_argument("--file", metavar="FILE", help='a file that holds the text; "-" for standard input')
    localize.add_argument("--path", type=path, default=Path(), metavar="PATH", help="the folder of code (the current one)")
    localize.add_argument("--limit", type=positive, default=10, metavar="N", help="files, and functions, at most (10)")
    add_json(localize)

    compare = commands.add_parser("compare", help="compare what whole files and retrieved chunks cost for one question")
    _query(compare)
    compare.add_argument("--limit", type=positive, default=10, metavar="N", help="hits at most (10)")
    compare.add_argument("--tokens", type=positive, default=4_000, metavar="N", help="budget of the chunks in tokens (4000)")
    compare.add_argument("--answers", action="store_true", help="have the chat model that is set answer both ways, side by side")
    compare.add_argument("--model", metavar="NAME", help="with --answers: another model of the provider that is set")
    add_json(compare)

    explain = commands.add_parser("explain", help="say why a line was or wasn't found")
    _query(explain)
    explain.add_argument("place", type=place, metavar="FILE:LINE", help="file relative to the folder, and a line of it")
    add_json(explain)


def add_conversations(commands: Commands) -> None:
    """Add the commands that ask a chat model."""
    ask = commands.add_parser(
        "ask",
        help="have the chat model that is set answer a question about the code, with checked citations",
        description="Have the chat model that is set answer a question about the code. It gets context first and may then search "
        "and read; each place that it cites is checked against what it was given.",
        epilog='example:\n  carrel ask "where are retries limited?" --path ~/code/project',
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
    )
    _common(chat)

    review = commands.add_parser(
        "review",
        help="have the chat model that is set say what an issue takes",
        description="Have the chat model that is set search the code and say what an issue takes.",
        epilog='example:\n  gh issue view 12 --json body -q .body | carrel review "Login fails for umlauts" --body -',
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


def _query(command: ArgumentParser) -> None:
    command.add_argument("query", type=query, metavar="QUERY", help='words, a question or an identifier; "-" for standard input')
    command.add_argument("--path", type=path, default=Path(), metavar="PATH", help="the folder (the current one)")


def _history(command: ArgumentParser) -> None:
    command.add_argument(
        "--history",
        metavar="FILE",
        help='what was said before a query such as "and how is that tested?": a JSON list of {"role": "user" or "assistant", '
        '"content"}, oldest first; "-" for standard input',
    )


def _filters(command: ArgumentParser) -> None:
    group = command.add_argument_group("filters")
    group.add_argument("--glob", action="append", default=[], metavar="GLOB", help="only paths like this (repeatable)")
    group.add_argument("--language", action="append", default=[], metavar="NAME", help="only this language (repeatable)")
    group.add_argument("--symbol", metavar="NAME", help="only what is or defines this symbol (Class.method, or a name alone)")
    group.add_argument("--source", action="append", default=[], choices=("code", "docs"), help="only code, or only documents")
    group.add_argument("--max-age-days", type=positive, metavar="N", help="only what was updated in the last N days")
