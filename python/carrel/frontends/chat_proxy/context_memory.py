"""The contexts that were put before messages, so that a conversation is sent again as it was sent before. In memory only."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from msgspec import Struct

from carrel.frontends.chat_proxy.conversation import UserMessage
from carrel.model.types import ContextItem

_KEPT_SECONDS = 8 * 3_600.0
"""Since a context was last sent."""
RETRY_SECONDS = 300.0
"""So long the same messages again are a retry. Later they are taken for a new conversation, which gets what holds then."""
_MOST_CHARACTERS = 32_000_000
_MOST_ENTRIES = 10_000


class SentContext(Struct, eq=False):
    """A text that was put before a message: none, where it is empty.

    `too_long_for` is the largest window of a model for which it was left out, and stays left out.
    """

    text: str = ""
    items: tuple[ContextItem, ...] = ()
    tokens: int = 0
    id: str = ""
    too_long_for: int = 0
    made_at: float = 0.0

    @property
    def size(self) -> int:
        """About how many characters it takes in memory."""
        return len(self.text) + sum(len(item.text) + len(item.hit.chunk.text) for item in self.items)

    def withdraw(self) -> None:
        """Empty it, so that it is never sent again."""
        self.text, self.items, self.tokens = "", (), 0


class ContextMemory:
    """Contexts by the folder and the messages that they belong to; the longest unused ones go first. For one event loop.

    Conversations that begin alike share what was put before their first messages only until their answers differ: from then
    on a context is found by the message behind it too.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: OrderedDict[tuple[str, str], tuple[SentContext, float, int]] = OrderedDict()
        self._characters = 0

    def find(self, root: str, message: UserMessage) -> SentContext | None:
        """Return what was put before a message of a conversation; None where that isn't known, or the question is a new one."""
        if message.followed_key is None:
            sent = self._get(root, message.key)
            return sent if sent and sent.text and self._clock() - sent.made_at <= RETRY_SECONDS else None
        sent = self._get(root, message.followed_key)
        if sent is None and (sent := self._get(root, message.key)):
            self._put(root, message.followed_key, sent)
        return sent

    def keep(self, root: str, message: UserMessage, sent: SentContext) -> SentContext:
        """Remember what is put before a message; return what another request put there meanwhile, where one did."""
        if earlier := self.find(root, message):
            return earlier
        self._put_at(root, message, sent)
        return sent

    def keep_nothing(self, root: str, message: UserMessage) -> None:
        """Remember that nothing was put before a message, also where another request put something there meanwhile.

        Conversations that begin alike can't be told apart yet: the other one goes on without its context, too.
        """
        self._put_at(root, message, SentContext())

    def forget(self, roots: Sequence[str] | None = None) -> None:
        """Forget what was sent of these folders, or everything, also for requests that are on their way."""
        for entry in [entry for entry in self._entries if roots is None or entry[0] in roots]:
            self._entries[entry][0].withdraw()
            self._drop(entry)

    def _put_at(self, root: str, message: UserMessage, sent: SentContext) -> None:
        sent.made_at = self._clock()
        for key in filter(None, (message.key, message.followed_key)):
            self._put(root, key, sent)

    def _get(self, root: str, key: str) -> SentContext | None:
        entry = self._entries.get((root, key))
        if entry is None:
            return None
        sent, used, _ = entry
        if self._clock() - used > _KEPT_SECONDS:
            self._drop((root, key))
            return None
        self._put(root, key, sent)
        return sent

    def _put(self, root: str, key: str, sent: SentContext) -> None:
        self._drop((root, key))
        self._entries[root, key] = (sent, self._clock(), sent.size)
        self._characters += sent.size
        while len(self._entries) > _MOST_ENTRIES or self._characters > _MOST_CHARACTERS:
            self._drop(next(iter(self._entries)))

    def _drop(self, entry: tuple[str, str]) -> None:
        if removed := self._entries.pop(entry, None):
            self._characters -= removed[2]
