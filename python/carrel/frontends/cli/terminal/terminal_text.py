"""Workspace text on a terminal: names and code are data, and a terminal obeys what it is shown.

An escape sequence in a file's name could clear the screen or answer for the person; a line end could forge a line of
Carrel's own; a bidirectional control could make code read as what it isn't. All are shown as `\\x1b` or `\\u202e`.
"""

from __future__ import annotations

import re

from carrel.model.lines import LINE_END
from carrel.model.patterns import lazy_pattern

# C0 and C1 but the tab, bidirectional controls, line and paragraph separators, halves of characters.
_OBEYED = lazy_pattern("[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str) -> str:
    """Put the text on one line, with all that a terminal would obey shown as an escape."""
    return _OBEYED.sub(_escape, text)


def harmless(text: str) -> str:
    """Return a text of several lines with all that a terminal would obey shown as an escape."""
    return "\n".join(one_line(line) for line in LINE_END.split(text))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def is_text(value: str) -> bool:
    """Return false for what the system gave as bytes that are not UTF-8."""
    return not any("\ud800" <= char <= "\udfff" for char in value)
