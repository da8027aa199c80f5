"""Texts that only greet, thank or agree."""

from __future__ import annotations

_SMALL_TALK = frozenset(
    """
    afternoon again awesome bye cheers continue cool day evening everyone fine friend fun good goodbye great greetings haha
    hello help helped hey hi hm hmm interesting job joke later lol lot luck mind moment morning much name never nice night no
    nope now ok okay perfect please right see sorry sounds speak sure tell thank thanks think tired today tomorrow too
    understand very wait week weekend welcome well whats wonderful wow wrong yeah yep yes
    """.split()  # noqa: SIM905 - a list of words reads best as text
)
_BETWEEN = frozenset(
    """
    a all am an and are be can could did do does don everybody for going have how i is it m me my of on one s so t that the
    there this to up was we what who will with work would you your
    """.split()  # noqa: SIM905 - a list of words reads best as text
)


def is_small_talk(text: str) -> bool:
    """Tell whether a text only greets, thanks or agrees."""
    words = "".join(char if char.isalnum() or char == "_" else " " for char in text.casefold()).split()
    return any(word in _SMALL_TALK for word in words) and all(word in _SMALL_TALK or word in _BETWEEN for word in words)
