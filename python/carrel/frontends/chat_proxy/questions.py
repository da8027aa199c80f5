"""Where the user's question stands in the bodies of the known APIs. Pure functions; what isn't understood isn't touched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ENDPOINTS = {
    "/chat/completions": "messages",
    "/responses": "input",
    "/api/chat": "messages",
    "/api/generate": "prompt",
}
"""End of the path, and the field that holds the conversation."""

_TEXT_PARTS = frozenset({"text", "input_text"})
_INSTRUCTING = frozenset({"system", "developer"})
_REMINDER = 80
"""Fewer characters that also stand in the system prompt are a coincidence."""
_CHORE = "### Task:"
"""So begin the requests by which Open WebUI has titles, tags and follow-ups made: no person asks them."""


@dataclass(frozen=True, slots=True)
class Question:
    """The last user message of a request, and the object that holds its text."""

    body: dict[str, Any]
    holder: dict[str, Any]
    key: str
    asked: str  # the user's own words, of all parts; `text` is the part that takes the context

    @property
    def text(self) -> str:
        """The text that the context goes into."""
        return str(self.holder[self.key])

    @property
    def model(self) -> str | None:
        """The model that is asked."""
        model = self.body.get("model")
        return model if isinstance(model, str) else None

    def with_text(self, text: str) -> bytes:
        """The request's body with this text in place of the user's."""
        self.holder[self.key] = text
        return json.dumps(self.body, separators=(",", ":")).encode("ascii")


def field_of(path: str) -> str | None:
    """The field that holds the conversation, if this path is a known endpoint."""
    return next((field for end, field in ENDPOINTS.items() if path.rstrip("/").endswith(end)), None)


def question_in(path: str, raw: bytes) -> Question | None:
    """The question in the body of a request to `path`."""
    field = field_of(path)
    try:
        body = json.loads(raw) if field else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or field is None:
        return None
    content = body.get(field)
    if isinstance(content, str):
        # Raw prompts and code to be filled in are no questions; a context would only be continued.
        filling = field == "prompt" and (body.get("raw") or body.get("suffix"))
        return None if filling or field == "messages" else Question(body, body, field, _own_words(content, body, ()))
    return _last_message(body, content if isinstance(content, list) else [])


def _last_message(body: dict[str, Any], messages: list[Any]) -> Question | None:
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return Question(body, message, "content", _own_words(content, body, messages))
            parts = _texts(content)
            if parts:
                whole = "\n".join(part["text"] for part in parts)
                return Question(body, parts[0], "text", _own_words(whole, body, messages))
            return None
    return None


def _own_words(text: str, body: dict[str, Any], messages: Sequence[Any]) -> str:
    """The text without what the program appends to it: Aider repeats the end of its system prompt there."""
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
    """What the model is told before the conversation."""
    texts = [body.get("instructions"), body.get("system")]
    for message in messages:
        if isinstance(message, dict) and message.get("role") in _INSTRUCTING:
            content = message.get("content")
            texts += [content] if isinstance(content, str) else [part["text"] for part in _texts(content)]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _texts(content: Any) -> list[dict[str, Any]]:
    """The parts that hold text."""
    return [part for part in content if _is_text(part)] if isinstance(content, list) else []


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in _TEXT_PARTS and isinstance(part.get("text"), str)
