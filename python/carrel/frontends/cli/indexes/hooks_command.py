"""`carrel hook install|remove`, as typed."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from carrel.frontends.cli.indexes import hooks
from carrel.frontends.cli.terminal.output import Output


def run(arguments: Namespace, output: Output) -> int:
    """Install or remove the hooks; 1 if any hook had to be left alone."""
    act = hooks.install if arguments.action == "install" else hooks.remove
    results = act(arguments.path.absolute())
    if output.json:
        output.value([{**asdict(result), "path": str(result.path)} for result in results])
    else:
        for result in results:
            output.text(f"{result.hook}: {result.outcome}" + (f" ({result.path}: {result.reason})" if result.reason else ""))
    return 1 if any(result.outcome == "skipped" for result in results) else 0
