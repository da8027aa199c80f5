"""A chat turn with its context in front."""

from __future__ import annotations

from carrel.model.patterns import lazy_pattern

# `/fix`, `@carrel`, `@workspace /explain`; but neither `/usr/lib` nor `@scope/package`, which are part of a question.
_COMMANDS = lazy_pattern(r"\A\s*(?:[/@][^\W\d][\w.:-]*(?=\s|\Z)\s*)+")


def question_of(text: str) -> str:
    """Return the user's words without leading `/command`s and `@agent`s."""
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
