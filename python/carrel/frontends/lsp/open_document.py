"""The text of an open document, changed exactly as the editor changes it.

pygls cuts lines with `str.splitlines`, and reads columns in the first encoding that the client offers, whatever the server chose.
"""

from __future__ import annotations

from lsprotocol import types
from pygls.workspace import TextDocument

from carrel.model.lines import rows_of


class OpenDocument(TextDocument):
    """A document that the client opened. pygls hands it the client's changes.

    It is kept as lines, so that a change costs no more than the lines that it touches.
    """

    def __init__(self, item: types.TextDocumentItem) -> None:
        super().__init__(item.uri, version=item.version, language_id=item.language_id)
        self._rows = rows_of(item.text)

    @property
    def source(self) -> str:
        """Return the whole text."""
        return "".join(self._rows)

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the lines with their ends."""
        return tuple(self._rows)

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Replace the whole text, or a range of it."""
        if not isinstance(change, types.TextDocumentContentChangePartial):
            self._rows = rows_of(change.text)
            return
        rows = self._rows
        (first, begin), (last, finish) = sorted(map(self._place, (change.range.start, change.range.end)))
        before = max(first - 1, 0)  # it counts, too: its carriage return may meet a line feed
        head, tail = (row[:begin] for row in rows[first : first + 1]), [row[finish:] for row in rows[last : last + 1]]
        new = list[str]()
        for part in (*rows[before:first], *head, *rows_of(change.text), *tail):
            if new and (new[-1][-1] not in "\r\n" or (new[-1][-1] == "\r" and part[:1] == "\n")):
                new[-1] += part
            elif part:
                new.append(part)
        rows[before : last + 1] = new

    def _place(self, position: types.Position) -> tuple[int, int]:
        """Return the line and the character of a position, whose column is in UTF-16.

        What lies beyond a line is its end; what lies beyond the text is the beginning of a line after the last.
        """
        if position.line >= len(self._rows):
            return len(self._rows), 0
        row = self._rows[position.line]
        end = len(row.rstrip("\r\n"))
        if row.isascii():
            return position.line, min(position.character, end)
        # Half of a surrogate pair is dropped: a position in one is the character's beginning.
        units = row[: min(position.character, end)].encode("utf-16-le", "surrogatepass")
        return position.line, len(units[: 2 * position.character].decode("utf-16-le", "ignore"))
