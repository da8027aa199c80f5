"""The command line. Results go to standard output, everything else (progress, notes, errors) to standard error.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 cancelled. With `--json` exactly one JSON value is printed, also for a failure:
`{"error": …}`. Every command imports what it needs when it runs, so that `carrel --version` and completion are instant.
"""

from __future__ import annotations

import io
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

from carrel.frontends.cli.arguments import WrongUsage, parser
from carrel.frontends.cli.terminal import Output, OutputClosed, OutputFailed, is_text, results_alone
from carrel.frontends.common.interrupts import CANCELLED
from carrel.model.errors import Cancelled, CarrelError, InvalidInput
from carrel.system.filesystem import describe, is_system_fault

FAILED, WRONG_USAGE = 1, 2

_ANY_BYTES = ("file", "server", "svg")
"""Arguments that are handed to the system as they are."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    _print_utf8()
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
        with results_alone() if output.json else nullcontext():
            return _run(arguments, output)
    except OutputClosed:
        return 0
    except OutputFailed as error:
        output.warn(f"carrel: standard output can't be written: {error}. Send it somewhere that takes the answer.")
        return FAILED


def _print_utf8() -> None:
    """Have text printed in the encoding of answers: Windows takes one of few letters for a file or a pipe."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=stream.errors)


def _run(arguments: Namespace, output: Output) -> int:
    try:
        _check_text(arguments)
        module, _, function = _COMMANDS[arguments.command].partition(":")
        run: Callable[[Namespace, Output], int] = getattr(import_module(f"carrel.frontends.cli.{module}"), function)
        return run(arguments, output)
    except Cancelled:
        output.fail("Cancelled. What was finished is kept.")
        return CANCELLED
    except CarrelError as error:
        output.fail(str(error))
        return WRONG_USAGE if isinstance(error, InvalidInput) else FAILED
    except OSError as error:
        if not is_system_fault(error):
            raise
        output.fail(str(CarrelError(*describe(error))))
        return FAILED
    except ImportError as error:
        output.fail(f"Carrel isn't installed completely ({error}). `carrel doctor` says what is missing.")
        return FAILED


def _asks_for_json(typed: Sequence[str]) -> bool:
    """Return whether `--json` stands among arguments that may be no command at all; what follows `--` is for another program."""
    arguments = typed[: typed.index("--")] if "--" in typed else typed
    return "--json" in arguments


def _check_text(arguments: Namespace) -> None:
    """Refuse a question or folder that is not text: other bytes can't be searched for or sent."""
    for name, argument in vars(arguments).items():
        if name in _ANY_BYTES:
            continue
        for value in argument if isinstance(argument, list | tuple) else [argument]:
            if isinstance(value, str | Path) and not is_text(str(value)):
                raise InvalidInput(name, f"{value} is not UTF-8", "Give text, and rename a file or folder whose name isn't.")


_COMMANDS = {
    "agents": "servers:run_agents",
    "ask": "conversation:run",
    "audit": "audit:run",
    "batch": "batch:run",
    "chat": "conversation:run",
    "clear": "index:run_status",
    "compare": "questions:run_question",
    "confirm": "setup:run_confirm",
    "context": "questions:run_question",
    "copilot-proxy": "servers:run_copilot_proxy",
    "demo": "demo:run",
    "doctor": "doctor:run_doctor",
    "explain": "questions:run_question",
    "files": "questions:run_question",
    "hook": "git_hooks:run",
    "index": "index:run_index",
    "localize": "questions:run_localize",
    "mcp": "servers:run_mcp",
    "models": "setup:run_models",
    "pipeline": "tools:run_pipeline",
    "proxy": "servers:run_chat_proxy",
    "publish": "store:run_publish",
    "review": "conversation:run",
    "search": "questions:run_question",
    "secrets": "index:run_secrets",
    "selftest": "doctor:run_selftest",
    "serve": "servers:run_serve",
    "sources": "setup:run_sources",
    "status": "index:run_status",
    "store": "store:run_store",
    "tools": "tools:run_tools",
}
"""The module and function of each command."""
