"""What a chat turn looks like on its way to the Copilot Language Server, and where context goes in it. Pure functions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

Mode = Literal["prepend", "references", "off"]

TURNS = ("conversation/create", "conversation/turn")


@dataclass(frozen=True, slots=True)
class Turn:
    """The user's words of now: the message that holds them, and the place in it."""

    message: dict[str, Any]
    holder: dict[str, Any]
    key: str
    part: int | None  # which part of a list of parts takes the context

    @property
    def text(self) -> str:
        """The text that the context goes into."""
        content = self.holder[self.key]
        return str(content if self.part is None else content[self.part]["text"])

    @property
    def whole_text(self) -> str:
        """All of the user's text, which is what is asked."""
        content = self.holder[self.key]
        return content if isinstance(content, str) else "\n".join(part["text"] for part in content if _is_text(part))

    @property
    def folders(self) -> tuple[str, ...]:
        """The workspace folders that the request itself names."""
        params = self.message["params"]
        named = [params.get("workspaceFolder"), *(_items(params.get("workspaceFolders")))]
        uris = (item.get("uri") if isinstance(item, dict) else item for item in named)
        return tuple(uri for uri in uris if isinstance(uri, str))

    @property
    def model(self) -> str | None:
        """The chat model, where the request names one."""
        model = self.message["params"].get("model")
        return model if isinstance(model, str) else None

    def with_text(self, text: str) -> bytes:
        """The message with this text in place of the user's."""
        content: Any = text
        if self.part is not None:
            content = [{**part, "text": text} if i == self.part else part for i, part in enumerate(self.holder[self.key])]
        self.holder[self.key] = content
        return _encode(self.message)

    def with_references(self, references: list[dict[str, Any]]) -> bytes:
        """The message with more references; the text stays as it is."""
        params = self.message["params"]
        params["references"] = [*_items(params.get("references")), *references]
        return _encode(self.message)


def turn_of(body: bytes) -> Turn | None:
    """The current turn of a `conversation/create` or `conversation/turn` request; None for anything else."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("method") not in TURNS or "id" not in message:
        return None
    params = message.get("params")
    if not isinstance(params, dict):
        return None
    if message["method"] == "conversation/turn":
        return _turn(message, params, "message")
    # Earlier turns carry their response; the one without is the one that is asked now.
    open_turns = [turn for turn in _items(params.get("turns")) if isinstance(turn, dict) and turn.get("response") is None]
    return _turn(message, open_turns[-1], "request") if open_turns else None


def _turn(message: dict[str, Any], holder: dict[str, Any], key: str) -> Turn | None:
    content = holder.get(key)
    if isinstance(content, str):
        return Turn(message, holder, key, None)
    part = next((i for i, part in enumerate(_items(content)) if _is_text(part)), None)
    return None if part is None else Turn(message, holder, key, part)


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _encode(message: Any) -> bytes:
    # ASCII, so that half a surrogate pair, which JSON allows, survives.
    return json.dumps(message, separators=(",", ":")).encode("ascii")
