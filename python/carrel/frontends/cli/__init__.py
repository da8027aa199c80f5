"""The command line. Results go to standard output, everything else (progress, notes, errors) to standard error.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 cancelled. With `--json` exactly one JSON value is printed, also for a failure:
`{"error": …}`. Every command imports what it needs when it runs, so that `carrel --version` and completion are instant.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from carrel.core.errors import Cancelled, CarrelError, InvalidInput
from carrel.frontends.cli.arguments import WrongUsage, parser
from carrel.frontends.cli.output import Enough, Output, Unwritable
from carrel.frontends.cli.plain import is_text
from carrel.frontends.interrupts import CANCELLED

FAILED, WRONG_USAGE = 1, 2

_ANY_BYTES = ("file", "server", "start", "svg")
"""Arguments that are handed to the system as they are."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    typed = sys.argv[1:] if argv is None else argv
    output = Output(json=_asks_for_json(typed))
    try:
        try:
            arguments = parser().parse_args(typed)
        except WrongUsage as wrong:
            output.usage(wrong.usage)
            output.fail(str(wrong))
            return WRONG_USAGE
        output = Output(json=getattr(arguments, "json", False))
        return _run(arguments, output)
    except Enough:
        return 0
    except Unwritable as error:
        output.warn(f"carrel: standard output can't be written: {error}. Send it somewhere that takes the answer.")
        return FAILED


def _run(arguments: Namespace, output: Output) -> int:
    try:
        _check_text(arguments)
        return _dispatch(arguments, output)
    except Cancelled:
        output.fail("Cancelled. What was finished is kept.")
        return CANCELLED
    except InvalidInput as error:
        output.fail(str(error))
        return WRONG_USAGE
    except CarrelError as error:
        output.fail(str(error))
        return FAILED
    except ImportError as error:
        output.fail(f"Carrel isn't installed completely ({error}). `carrel doctor` says what is missing.")
        return FAILED


def _asks_for_json(typed: Sequence[str]) -> bool:
    """Whether `--json` stands among arguments that may be no command at all; what follows `--` is for another program."""
    own = typed[: typed.index("--")] if "--" in typed else typed
    return "--json" in own


def _check_text(arguments: Namespace) -> None:
    """What is asked and the folders that are named must be text; bytes that are none can't be searched for or sent."""
    for name, given in vars(arguments).items():
        if name in _ANY_BYTES:
            continue
        for value in given if isinstance(given, list | tuple) else [given]:
            if isinstance(value, str | Path) and not is_text(str(value)):
                raise InvalidInput(name, f"{value} is not UTF-8; give text, and rename a file or folder that is none")


def _dispatch(arguments: Namespace, output: Output) -> int:  # noqa: PLR0912 - a branch a module
    match arguments.command:
        case "serve":
            from carrel.frontends.cli.serve import run
        case "index":
            from carrel.frontends.cli.index import run
        case "search" | "context" | "files" | "compare" | "explain":
            from carrel.frontends.cli.ask import run
        case "localize":
            from carrel.frontends.cli.localize import run
        case "status" | "clear":
            from carrel.frontends.cli.state import run
        case "batch":
            from carrel.frontends.cli.batch import run
        case "eval":
            from carrel.frontends.cli.evaluate import run
        case "doctor":
            from carrel.frontends.cli.doctor import run
        case "demo":
            from carrel.frontends.cli.demo import run
        case "mcp":
            from carrel.frontends.cli.mcp import run
        case "copilot-proxy":
            from carrel.frontends.cli.copilot_proxy import run
        case "proxy":
            from carrel.frontends.cli.chat_proxy import run
        case _:
            from carrel.frontends.cli.hooks_command import run
    return run(arguments, output)
