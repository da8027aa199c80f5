"""What a person must act on, said once in a session: `window/showMessage`.

A fault often comes to light through a request, and then its answer says it: editors show what they asked for. So a fault
waits a moment, and is said here only when no answer has said it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal

from carrel.frontends.lsp.messages import question_messages as wire

ANSWER_SECONDS = 1.0
"""Within this an answer has left that carries a fault."""

_Kind = Literal[1, 2]
ERROR: _Kind = 1
WARNING: _Kind = 2


class UserMessages:
    """Remembers what was said. Used on the event loop only."""

    def __init__(self, show: Callable[[int, str], None], patience: float = ANSWER_SECONDS) -> None:
        """Show messages by `show`, which gets LSP's message type and the text."""
        self._show = show
        self._patience = patience
        self._said: set[str] = set()

    def tell(self, text: str, kind: _Kind = WARNING) -> None:
        """Say it, unless it was said."""
        if text not in self._said:
            self._said.add(text)
            self._show(kind, text)

    def tell_unless_answered(self, text: str) -> None:
        """Say of a fault what the answers of the next moment don't say."""
        if text not in self._said:
            asyncio.get_running_loop().call_later(self._patience, self.tell, text, ERROR)

    def refused(self, error: Exception) -> None:
        """Note that a request was answered by an error: whoever asked shows it."""
        self._said.add(str(error))

    def answered(self, params: Any, result: Any) -> None:
        """Note the error in a pack. Who asked explicitly shows it; a chat turn goes on without a word."""
        pack = result.pack if isinstance(result, wire.AugmentResult) else result
        if not isinstance(pack, wire.ContextResult) or not isinstance(pack.error, str):
            return
        if isinstance(params, dict) and params.get("trigger") == "explicit":
            self._said.add(pack.error)
