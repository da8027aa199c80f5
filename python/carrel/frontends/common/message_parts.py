"""Read the text of a chat message, which programs send whole or in parts."""

from __future__ import annotations

from collections.abc import Container
from typing import Any


def text_parts(content: Any, kinds: Container[object] | None = None) -> list[tuple[int, str]]:
    """Return the parts of a content that hold text, of these `kinds` alone where they are given: their places, and the texts."""
    if not isinstance(content, list):
        return []
    return [
        (at, text)
        for at, part in enumerate(content)
        if isinstance(part, dict) and (kinds is None or part.get("type") in kinds) and isinstance(text := part.get("text"), str)
    ]


def text_of(content: Any, kinds: Container[object] | None = None) -> str:
    """Return all text of a content; nothing of what is neither text nor parts."""
    return content if isinstance(content, str) else "\n".join(text for _, text in text_parts(content, kinds))
