"""Who asks: the front end of a request, and the program behind it by the name that it gives itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

from msgspec import Struct

Entry = Literal["editor", "mcp", "chat proxy", "copilot proxy", "agent hook", "command line", "library"]
"""The way by which a request came in."""

COPILOT_PROXY = "carrel copilot-proxy"
"""What the Copilot proxy calls itself to the language server that it starts."""

_LONGEST_NAME = 100


class Caller(Struct, frozen=True):
    """The front end and the client's own name for itself, which nobody vouches for."""

    entry: Entry
    name: str = ""

    def __str__(self) -> str:
        name = "".join(c if c.isprintable() else "?" for c in self.name[:_LONGEST_NAME])
        return f"{self.entry}: {name}" if name else self.entry


_CALLER: ContextVar[Caller | None] = ContextVar("carrel_caller", default=None)


@contextmanager
def called_by(caller: Caller) -> Iterator[None]:
    """Name the caller of what is done inside, by this task and those that it starts."""
    token = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(token)


def current_caller() -> Caller | None:
    """Return who asked for what is being done; None where its front end has one caller only."""
    return _CALLER.get()
