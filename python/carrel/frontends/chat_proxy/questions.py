"""Where the user's question stands in the bodies of the known APIs. Pure functions; what isn't understood isn't touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from carrel.core.conversation import Message, Role
from carrel.frontends.common import json_splice
from carrel.frontends.common.message_parts import text_of, text_parts

ENDPOINTS = {
    "/chat/completions": "messages",
    "/responses": "input",
    "/api/chat": "messages",
    "/api/generate": "prompt",
}
"""End of the path, and the field that holds the conversation."""

_SPEAKERS: Mapping[str, Role] = {"user": "user", "assistant": "assistant"}
_TEXT = ("text", "input_text")
_INSTRUCTING = ("system", "developer")
_REMINDER = 80
"""Fewer characters that also stand in the system prompt are a coincidence."""
_CHORE = "### Task:"
"""So begin the requests by which Open WebUI has titles, tags and follow-ups made: no person asks them."""


@dataclass(frozen=True, slots=True)
class Question:
    """The last user message of a request, and where in the raw body its text stands."""

    raw: bytes
    body: dict[str, Any]
    span: json_splice.Span
    text: str  # what the context goes into
    asked: str  # the user's own words, of all parts
    history: tuple[Message, ...] = ()  # what was said before

    @property
    def model(self) -> str | None:
        """The model that is asked."""
        model = self.body.get("model")
        return model if isinstance(model, str) else None

    def with_text(self, text: str) -> bytes:
        """Return the request's body with this text in place of the user's; every other byte stays."""
        return json_splice.replaced(self.raw, self.span, text)


def field_of(path: str) -> str | None:
    """Return the field that holds the conversation, if this path is a known endpoint."""
    return next((field for end, field in ENDPOINTS.items() if path.rstrip("/").endswith(end)), None)


def question_in(path: str, raw: bytes) -> Question | None:
    """Return the question in the body of a request to `path`."""
    field = field_of(path)
    body = json_splice.parse(raw) if field else None
    if not isinstance(body, dict) or field is None:
        return None
    content = body.get(field)
    place: _Place | None
    if isinstance(content, str):
        # Raw prompts and code to be filled in are no questions; a context would only be continued.
        filling = field == "prompt" and (body.get("raw") or body.get("suffix"))
        place = None if filling or field == "messages" else ((field,), content, content)
        messages: list[Any] = []
    else:
        messages = content if isinstance(content, list) else []
        place = _last_message(field, messages)
    if place is None:
        return None
    where, text, asked = place
    span = json_splice.string_span(raw, where, text)
    return Question(raw, body, span, text, _own_words(asked, body, messages), _history(messages)) if span else None


_Place = tuple[tuple[str | int, ...], str, str]
"""Path to the text that takes the context, that text, and all that is asked."""


def _last_message(field: str, messages: list[Any]) -> _Place | None:
    for at in reversed(range(len(messages))):
        message = messages[at]
        if isinstance(message, dict) and message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return (field, at, "content"), content, content
            parts = text_parts(content, _TEXT)
            if parts:
                at_part, text = parts[0]
                return (field, at, "content", at_part, "text"), text, "\n".join(text for _, text in parts)
            return None
    return None


def _history(messages: Sequence[Any]) -> tuple[Message, ...]:
    """Return what the two who speak said before the last message of the user."""
    said: list[Message] = []
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if isinstance(role, str) and role in _SPEAKERS:
            said.append(Message(_SPEAKERS[role], text_of(message.get("content"), _TEXT)))
    last = max((at for at, message in enumerate(said) if message.role == "user"), default=0)
    return tuple(message for message in said[:last] if message.text.strip())


def _own_words(text: str, body: dict[str, Any], messages: Sequence[Any]) -> str:
    """Return the text without what the program appends to it: Aider repeats the end of its system prompt there."""
    if text.startswith(_CHORE):
        return ""
    told = _instructions(body, messages)
    at = text.find("\n\n", max(len(text) - len(told) - _REMINDER, 0))
    while at >= 0 and len(tail := text[at:].strip()) >= _REMINDER:
        if tail in told:
            return text[:at]
        at = text.find("\n\n", at + 2)
    return text


def _instructions(body: dict[str, Any], messages: Sequence[Any]) -> str:
    """Return what the model is told before the conversation."""
    texts = [body.get("instructions"), body.get("system")]
    for message in messages:
        if isinstance(message, dict) and message.get("role") in _INSTRUCTING:
            content = message.get("content")
            texts += [content] if isinstance(content, str) else [text for _, text in text_parts(content, _TEXT)]
    return "\n\n".join(text for text in texts if isinstance(text, str))
