"""JSON that is one line for every reader.

JSON allows U+0085, U+2028 and U+2029 in a text, but JavaScript's `readline`, Python's `str.splitlines` and Java's `\\R` end a
line there. All other characters at which a reader may end one are escaped by every encoder.
"""

from __future__ import annotations

_ESCAPES = tuple((end.encode(), b"\\u%04x" % ord(end)) for end in "\x85\u2028\u2029")


def single_line(data: bytes) -> bytes:
    """Return the same JSON, of the same value, with these characters written as escapes."""
    for end, escape in _ESCAPES:
        data = data.replace(end, escape)
    return data
