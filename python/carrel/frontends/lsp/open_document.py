"""The text of an open document, changed exactly as the editor changes it.

pygls cuts lines with `str.splitlines`, and reads columns in the first encoding that the client offers, whatever the server chose.
"""

from __future__ import annotations

from itertools import islice

from lsprotocol import types
from pygls.workspace import TextDocument

from carrel.core.lines import LINE_END, rows_of


class OpenDocument(TextDocument):
    """A document that the client opened. pygls hands it the client's changes."""

    def __init__(self, item: types.TextDocumentItem) -> None:
        super().__init__(item.uri, version=item.version, language_id=item.language_id)
        self._text = item.text

    @property
    def source(self) -> str:
        """Return the whole text."""
        return self._text

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the lines with their ends."""
        return tuple(rows_of(self._text))

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Replace the whole text, or a range of it."""
        if isinstance(change, types.TextDocumentContentChangePartial):
            start, end = sorted((offset_of(self._text, change.range.start), offset_of(self._text, change.range.end)))
            self._text = self._text[:start] + change.text + self._text[end:]
        else:
            self._text = change.text


def offset_of(text: str, position: types.Position) -> int:
    """Return where a position is in a text. Its column is in UTF-16; what lies beyond a line or the text is its end."""
    start = _line_start(text, position.line)
    end = LINE_END.search(text, start)
    row = text[start : end.start() if end else len(text)]
    if row.isascii():
        return start + min(position.character, len(row))
    # Half of a surrogate pair is dropped: a position in one is the character's beginning.
    before = row.encode("utf-16-le", "surrogatepass")[: 2 * position.character].decode("utf-16-le", "ignore")
    return start + len(before)


def _line_start(text: str, line: int) -> int:
    if line <= 0:
        return 0
    before = next(islice(LINE_END.finditer(text), line - 1, None), None)
    return before.end() if before else len(text)
