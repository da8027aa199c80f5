"""`carrel serve | mcp | proxy | copilot-proxy | agents`: start a front end, or set it up. Each loads its own front end alone."""

from __future__ import annotations

import json
import os
import shlex
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from carrel.frontends.cli.terminal import Output, folder
from carrel.frontends.common.interrupts import CANCELLED
from carrel.model.errors import Cancelled, CarrelError, InvalidInput

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from carrel.model.outbound import Secret
    from carrel.policy.broad_folders import BroadFolder
    from carrel.settings.settings import Options


def run_serve(arguments: Namespace, output: Output) -> int:  # noqa: ARG001 - every command has this shape
    """Speak LSP on standard input and output until the editor ends it."""
    from carrel.frontends.lsp.serve import main

    main()
    return 0


def run_mcp(arguments: Namespace, output: Output) -> int:
    """Serve, or write a client's configuration."""
    from carrel.frontends.mcp.server_info import Offer, sdk_problem

    if arguments.action:
        from carrel.frontends.cli.assistants.setup import configure

        return configure(arguments, output)
    roots = tuple(folder(root) for root in arguments.root)
    options = _options(arguments.settings)
    broad: BroadFolder = "once indexed" if arguments.roots_by_editor else "allowed"
    offer = Offer(_tools(arguments.tools), arguments.structured)
    if problem := sdk_problem():
        raise problem
    from carrel.frontends.common import parent_process
    from carrel.frontends.mcp.early_responder import EarlyResponder

    parent_process.end_with_parent()
    responder = EarlyResponder.on_standard_streams(offer.tools(), ask_roots=not roots)
    if not responder.wait():
        return 0
    from carrel.frontends.mcp.serve import run as serve

    return serve(roots, responder, options, broad, offer)


def _tools(typed: str) -> tuple[str, ...]:
    """Return the tools to list, in the order of all."""
    from carrel.frontends.mcp.server_info import DEFAULT_TOOLS, tool_names

    names = tool_names()
    if typed == "all":
        return names
    wanted = DEFAULT_TOOLS if typed == "" else tuple(name.strip() for name in typed.split(","))
    for name in wanted:
        if name not in names:
            raise InvalidInput("--tools", f"{name!r} is no tool", f"There are: {', '.join(names)}; or give all.")
    return tuple(name for name in names if name in wanted)


def _options(text: str) -> Options:
    """Read settings as typed, or as an editor hands them over."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInput("--settings", f"is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidInput("--settings", "is not a JSON object", 'Give one such as {"exclude": ["*.gen.ts"]}.')
    return value


def run_chat_proxy(arguments: Namespace, output: Output) -> int:
    """Serve until Ctrl-C."""
    from carrel.frontends.chat_proxy.http_guard import RateLimit
    from carrel.frontends.common import logs
    from carrel.frontends.common.context_switch import ContextSwitch
    from carrel.frontends.common.event_loop import run_cancellable
    from carrel.model.installation import how_to_install

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
    from carrel.policy.broad_folders import refusal

    current = folder(Path())
    if error := refusal(current, "Name a folder: `carrel proxy --workspace PATH`."):
        raise error
    return current


def _upstream(url: str) -> SplitResult:
    from urllib.parse import urlsplit

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


def _secret(name: str | None) -> Secret | None:
    if name is None:
        return None
    from carrel.model.outbound import Secret

    value = os.environ.get(name)
    if not value:
        raise InvalidInput(name, "the environment variable isn't set", "Set it, or name another.")
    return Secret(value)


def run_copilot_proxy(arguments: Namespace, output: Output) -> int:
    """Run the server behind the proxy until it ends, or install and uninstall."""
    command = arguments.server[1:] if arguments.server[:1] == ["--"] else arguments.server
    if arguments.server[:1] != ["--"] and command[:1] in (["install"], ["uninstall"]):
        return _set_up(command, arguments, output)
    if not command:
        raise InvalidInput("COMMAND", "is missing", "carrel copilot-proxy -- copilot-language-server --stdio")
    return _proxy(command, arguments)


def _proxy(command: list[str], arguments: Namespace) -> int:
    from carrel.frontends.common import logs
    from carrel.frontends.common.context_switch import ContextSwitch
    from carrel.frontends.common.transport import claim_stdio
    from carrel.frontends.copilot.interceptor import Interceptor, ProxyOptions
    from carrel.frontends.copilot.proxy import Proxy, leave
    from carrel.frontends.copilot.sidecar import Sidecar

    logs.start()
    switch = ContextSwitch()
    logs.set_level(switch.log_level)
    options = ProxyOptions(
        mode=arguments.mode,
        deadline_ms=arguments.deadline_ms,
        folders=tuple(folder(path) for path in arguments.workspace),
        top_k=arguments.top_k,
        tool=arguments.tool,
        citations=arguments.citations,
    )
    stdin, stdout = claim_stdio()
    client_in, client_out = os.dup(stdin.fileno()), os.dup(stdout.fileno())
    stdin.close()
    stdout.close()
    sidecar = Sidecar(switch.options)
    code = Proxy(Interceptor(options, switch, sidecar), client_in, client_out).run(command)
    sidecar.close()
    leave(code)
    return code


def _set_up(words: list[str], arguments: Namespace, output: Output) -> int:
    from carrel.frontends.copilot import install

    client = words[1].lower() if len(words) == 2 else ""
    install.refuse_impossible(client)
    if client not in install.CLIENTS:
        from carrel.frontends.cli.argument_types import did_you_mean

        raise InvalidInput(
            "CLIENT",
            f"is not one of {', '.join(install.CLIENTS)}",
            f"carrel copilot-proxy {words[0]} {install.CLIENTS[0]}." + did_you_mean(client, install.CLIENTS),
        )
    if words[0] == "uninstall":
        for line in install.uninstall(client):
            output.text(line)
        return 0
    start = [sys.executable, "-m", "carrel", "copilot-proxy", *_as_typed(arguments), "--"]
    for line in install.install(client, start, arguments.real):
        output.text(line)
    return 0


def _as_typed(arguments: Namespace) -> list[str]:
    """Return the options that the launcher starts the proxy with: those that it is installed with."""
    options = ["--mode", arguments.mode, "--deadline-ms", str(arguments.deadline_ms)]
    if arguments.top_k:
        options += ["--top-k", str(arguments.top_k)]
    if not arguments.tool:
        options.append("--no-tool")
    if not arguments.citations:
        options.append("--no-citations")
    for path in arguments.workspace:
        options += ["--workspace", str(folder(path))]
    return options


def run_agents(arguments: Namespace, output: Output) -> int:
    """Run one action."""
    match arguments.action:
        case "serve":  # until no hook came for a while
            from carrel.frontends.agents.serve import serve

            return serve()
        case "last":
            from carrel.frontends.cli.audit import show_last_prompts

            return show_last_prompts(output)
    from carrel.frontends.cli.assistants import setup

    return setup.run(arguments, output)
