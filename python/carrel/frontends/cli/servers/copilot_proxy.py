"""`carrel copilot-proxy`: stand before the Copilot Language Server, or set that up."""

from __future__ import annotations

import os
import sys
from argparse import Namespace

from carrel.frontends.cli.terminal.folders import folder
from carrel.frontends.cli.terminal.output import Output
from carrel.model.errors import InvalidInput


def run(arguments: Namespace, output: Output) -> int:
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
        from carrel.frontends.cli.arguments.argument_types import did_you_mean

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
