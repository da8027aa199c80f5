"""Lines as editors and the Rust core's `LineTable` count them: only `\n`, `\r\n` and a lone `\r` end one.

`str.splitlines` also cuts at form feeds, U+0085, U+2028 and other characters that may stand inside a line.

JSON that is one line for every reader.

JSON allows U+0085, U+2028 and U+2029 in a text, but JavaScript's `readline`, Python's `str.splitlines` and Java's `\\R` end a
line there. All other characters at which a reader may end one are escaped by every encoder.
"""

from __future__ import annotations

import io

from carrel.model.patterns import lazy_pattern

_ESCAPES = tuple((end.encode(), b"\\u%04x" % ord(end)) for end in "\x85\u2028\u2029")


def single_line(data: bytes) -> bytes:
    """Return the same JSON, of the same value, with these characters written as escapes."""
    for end, escape in _ESCAPES:
        data = data.replace(end, escape)
    return data


LINE_END = lazy_pattern(r"\r\n?|\n")


def rows_of(text: str) -> list[str]:
    """Return the lines of a text with their ends. What follows the last end is no line if it is empty."""
    return io.StringIO(text, newline="").readlines()


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without their ends. An empty text is one empty line."""
    lines = LINE_END.split(text)
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines
