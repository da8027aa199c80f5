"""`carrel proxy`: stand before a chat API."""

from __future__ import annotations

import os
import shlex
from argparse import Namespace
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from carrel.frontends.cli.terminal.folders import folder
from carrel.frontends.cli.terminal.output import Output
from carrel.frontends.common.event_loop import run_cancellable
from carrel.frontends.common.interrupts import CANCELLED
from carrel.model.errors import Cancelled, CarrelError, InvalidInput
from carrel.model.installation import how_to_install
from carrel.policy.broad_folders import refusal


def run(arguments: Namespace, output: Output) -> int:
    """Serve until Ctrl-C."""
    from carrel.frontends.chat_proxy.http_guard import RateLimit
    from carrel.frontends.common import logs
    from carrel.frontends.common.context_switch import ContextSwitch

    parts = _upstream(arguments.upstream)
    folders = tuple(folder(path) for path in arguments.workspace) or (_current_folder(),)
    try:
        from carrel.frontends.chat_proxy.app import serve
        from carrel.frontends.chat_proxy.context_injector import InjectionOptions
        from carrel.frontends.chat_proxy.upstream import Upstream
    except ModuleNotFoundError as error:
        if error.name not in ("httpx", "uvicorn"):
            raise
        raise CarrelError(f"`carrel proxy` needs {error.name}", f"Install it: {how_to_install('proxy')}") from None
    upstream = Upstream(arguments.upstream, _secret(arguments.upstream_key_env), _secret(arguments.token_env))
    options = InjectionOptions(
        folders, arguments.window, arguments.tokens, arguments.deadline_ms, RateLimit(arguments.rate_limit), arguments.citations
    )

    def started(port: int, unindexed: tuple[Path, ...]) -> None:
        output.note(f"Listening on http://127.0.0.1:{port}, before {parts.hostname}, with {', '.join(f.name for f in folders)}")
        for path in unindexed:
            output.note(f"{path.name} has no index yet, so nothing is found in it: run `carrel index {shlex.quote(str(path))}`")

    if upstream.key and not upstream.token:
        output.note(
            f"Warning: every program and every user of this machine can use the key in {arguments.upstream_key_env} through "
            "this proxy: give --token-env NAME to have callers send a token."
        )
    logs.start()
    logs.set_level(ContextSwitch().log_level)
    try:
        run_cancellable(serve(arguments.port, upstream, options, started))
    except OSError as error:
        raise CarrelError(f"Port {arguments.port} can't be listened on: {error.strerror}", "Choose another --port.") from error
    except Cancelled:
        return CANCELLED
    return 0


def _current_folder() -> Path:
    """Return the current folder, which nobody named: it mustn't be far more than a project."""
    current = folder(Path())
    if error := refusal(current, "Name a folder: `carrel proxy --workspace PATH`."):
        raise error
    return current


def _upstream(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment) and parts.port != 0
    except ValueError:  # brackets or a port that are none
        usable = False
    if not usable:
        raise InvalidInput(
            "upstream", "is not an http or https URL", "Give one such as http://localhost:11434 or https://api.openai.com/v1."
        )
    return parts


def _secret(name: str | None) -> str | None:
    if name is None:
        return None
    value = os.environ.get(name)
    if not value:
        raise InvalidInput(name, "the environment variable isn't set", "Set it, or name another.")
    return value
