"""Regular expressions that are compiled when they are first used, and tests of names that need none.

A start would compile hundreds that most commands don't use.
"""

from __future__ import annotations

import re
from string import ascii_letters, digits
from typing import Any, AnyStr, cast

_IN_NAMES = frozenset(f"{ascii_letters}{digits}_-")


def lazy_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that acts as `re.compile(source, flags)` does, by its attributes; functions of `re` don't take it."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(source, flags))


def is_name(text: str, most: int, signs: str = "_-") -> bool:
    """Tell whether a text is ASCII letters, digits and these signs, begins with none of these, and has at most so many."""
    return 0 < len(text) <= most and not text.strip(ascii_letters + digits + signs) and text[0] not in signs


def as_name(text: str) -> str:
    """Return a text with `_` in place of each character but ASCII letters, digits, `_` and `-`."""
    return "".join(char if char in _IN_NAMES else "_" for char in text)


def whole_word(text: str) -> re.Pattern[str]:
    """Return a pattern of a text where no word goes on before or after it."""
    return re.compile(rf"(?<!\w){re.escape(text)}(?!\w)")


class _LazyPattern:
    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, value)  # the next use of it doesn't come here
        return value
