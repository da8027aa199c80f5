"""Where the user's question stands in the bodies of the known APIs. Pure functions; what isn't understood isn't touched."""

from __future__ import annotations

import json
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


@dataclass(frozen=True, slots=True)
class Question:
    """The last user message of a request, and the object that holds its text."""

    body: dict[str, Any]
    holder: dict[str, Any]
    key: str
    whole: str  # all of the user's text, which is asked; `text` is the part that takes the context

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
        return None if filling or field == "messages" else Question(body, body, field, content)
    return _last_message(body, content)


def _last_message(body: dict[str, Any], messages: Any) -> Question | None:
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return Question(body, message, "content", content)
            parts = [part for part in content if _is_text(part)] if isinstance(content, list) else []
            if parts:
                return Question(body, parts[0], "text", "\n".join(part["text"] for part in parts))
            return None
    return None


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in _TEXT_PARTS and isinstance(part.get("text"), str)
