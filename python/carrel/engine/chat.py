"""A chat turn with its context in front (spec B6). What "chat never breaks" means is kept here and in nothing else."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from carrel.core.errors import Cancelled

log = logging.getLogger(__name__)

_COMMAND = re.compile(r"\A(\s*[/@][^\s/@]\S*)(?:\s+|\Z)")


def question_of(text: str) -> str:
    """The user's words without a leading `/command` or `@agent`."""
    return _COMMAND.sub("", text, count=1).strip()


def augment(text: str, context: str) -> str:
    """Put `context` in front of `text`, a blank line between; a leading `/command` or `@agent` stays first."""
    if not context:
        return text
    match = _COMMAND.match(text)
    if match is None:
        return f"{context}\n\n{text}"
    rest = text[match.end() :]
    return f"{match[1]} {context}\n\n{rest}" if rest.strip() else text


def context_or_nothing(get: Callable[[], str]) -> str:
    """What `get` gives, or "" if anything at all goes wrong in it. Only `Cancelled` passes."""
    try:
        return get()
    except Cancelled:
        raise
    except Exception:  # the one place where a fault must not reach the chat
        log.exception("No context for this turn")
        return ""
