"""What a request sent where, in lines for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from carrel.frontends.cli.terminal.output import Output


def tell_sent(result: Any, output: Output) -> None:
    """Say which services were asked, with how much; nothing where none was."""
    sent = getattr(result, "sent", None)
    for one in sent if isinstance(sent, tuple) else ():
        cost = f", ${one.cost:.4f}" if one.cost else ""
        many = "1 request" if one.requests == 1 else f"{one.requests} requests"
        output.note(
            f"sent to {one.provider} at {one.host} ({one.what}): {many}, {one.texts} texts, {one.bytes:,} bytes, "
            f"{one.tokens:,} tokens{cost}"
        )
