"""A conversation in a request's body: the messages of its user, and where a context for each of them goes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from msgspec import Struct

from carrel.frontends.common import json_splice
from carrel.model.conversation import Message
from carrel.pack.chat import augment


class UserMessage(Struct, frozen=True):
    """A message of the user: where the text stands that takes a context, and what the conversation was until then.

    `key` is a hash of the messages up to this one; `followed_key` covers the next one too, None where nobody said more.
    """

    path: tuple[str | int, ...]  # below the message's own value
    text: str
    at: int
    key: str
    followed_key: str | None


class Conversation(Struct, frozen=True):
    """The messages of the user in a request, oldest first, and what the last one asks."""

    raw: bytes
    body: dict[str, Any]
    field: str
    items: Sequence[json_splice.Span]  # where the values of all messages stand; empty where the field is there twice
    messages: tuple[UserMessage, ...]
    question: str = ""  # the user's own words, of all parts of the last message; empty where it holds no question
    history: tuple[Message, ...] = ()  # what was said before
    in_blocks: bool = False  # whether a context is a block of its own behind the text, not a part of it

    @property
    def model(self) -> str | None:
        """The model that is asked."""
        model = self.body.get("model")
        return model if isinstance(model, str) else None

    @property
    def text(self) -> str:
        """The text that takes the context of the question."""
        return self.messages[-1].text

    def with_contexts(self, contexts: Mapping[UserMessage, str]) -> bytes:
        """Return the request's body with a context for each of these messages; every other byte stays."""
        pieces = {}
        for message, span in self.spans(contexts).items():
            place, piece = self._placed(message, span, contexts[message])
            pieces[place] = piece
        return json_splice.spliced(self.raw, pieces)

    def _placed(self, message: UserMessage, span: json_splice.Span, context: str) -> tuple[json_splice.Span, bytes]:
        """Return the stretch that changes, and what stands there then; `span` is the text's."""
        if not self.in_blocks:
            return span, json_splice.encoded(augment(message.text, context))
        block = json_splice.encoded({"type": "text", "text": context})
        if len(message.path) == 1:  # a plain string stands for one block
            return span, b'[{"type":"text","text":' + self.raw[slice(*span)] + b"}," + block + b"]"
        _, end = json_splice.span_of(self.raw, message.path[:-1], self.items[message.at]) or span
        return (end, end), b"," + block

    def spans(self, messages: Iterable[UserMessage]) -> dict[UserMessage, json_splice.Span]:
        """Return where the texts of messages stand; not of those whose fields are there twice."""
        whole = isinstance(self.body[self.field], str)
        spans = {}
        for message in messages:
            within = self.items[message.at] if message.at < len(self.items) else None
            if (whole or within) and (span := json_splice.string_span(self.raw, message.path, message.text, within)):
                spans[message] = span
        return spans


def instructs(message: Any) -> bool:
    """Tell whether a message is the program's, not of one of the two who speak."""
    return isinstance(message, dict) and message.get("role") in ("system", "developer")


def counted(message: Any) -> Any:
    """Return what of a message tells conversations apart. Marks for an upstream's cache, which move, don't."""
    if not isinstance(message, dict):
        return message
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return {**_unmarked(message), "content": [_unmarked(part) for part in parts]}


def _unmarked(value: Any) -> Any:
    return {key: inner for key, inner in value.items() if key != "cache_control"} if isinstance(value, dict) else value


def digested(before: bytes, value: Any) -> bytes:
    """Return a hash of plain data and of what came before it."""
    return sha256(before + json.dumps(value, sort_keys=True).encode("ascii")).digest()
