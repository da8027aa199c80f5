"""A chat turn with its context in front (spec B6). What "chat never breaks" means for a text is kept here."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from carrel.core.errors import Cancelled

log = logging.getLogger(__name__)

# `/fix`, `@carrel`, `@workspace /explain`; but neither `/usr/lib` nor `@scope/package`, which are part of a question.
_COMMANDS = re.compile(r"\A\s*(?:[/@][^\W\d][\w.:-]*(?=\s|\Z)\s*)+")


def question_of(text: str) -> str:
    """The user's words without leading `/command`s and `@agent`s."""
    return _COMMANDS.sub("", text, count=1).strip()


def augment(text: str, context: str) -> str:
    """Put `context` in front of `text`, a blank line between; leading `/command`s and `@agent`s stay first."""
    if not context:
        return text
    match = _COMMANDS.match(text)
    if match is None:
        return f"{context}\n\n{text}"
    rest = text[match.end() :]
    return f"{match[0].strip()} {context}\n\n{rest}" if rest.strip() else text


def augmented_turn(text: str, context_for: Callable[[str], str]) -> str:
    """The turn with what `context_for` finds for its question in front, or as it was if anything goes wrong.

    A turn without a question (a bare command) is left alone. Only `Cancelled` is raised.
    """
    question = question_of(text)
    return augment(text, context_or_nothing(lambda: context_for(question))) if question else text


def context_or_nothing(get: Callable[[], str]) -> str:
    """What `get` gives, or "" if anything at all goes wrong in it. Only `Cancelled` passes."""
    try:
        return get()
    except Cancelled:
        raise
    except Exception:  # the one place where a fault must not reach the chat
        log.exception("No context for this turn")
        return ""
