"""What a request sent where, in lines for a person."""

from __future__ import annotations

from typing import Any

from carrel.frontends.cli.terminal.output import Output


def tell_sent(result: Any, output: Output) -> None:
    """Say which services were asked, with how much; nothing where none was."""
    sent = getattr(result, "sent", None)
    for service in sent if isinstance(sent, tuple) else ():
        cost = f", ${service.cost:.4f}" if service.cost else ""
        many = "1 request" if service.requests == 1 else f"{service.requests} requests"
        output.note(
            f"sent to {service.provider} at {service.host} ({service.what}): {many}, {service.texts} texts, "
            f"{service.bytes:,} bytes, {service.tokens:,} tokens{cost}"
        )
