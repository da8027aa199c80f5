"""An open document holds the editor's text after any edits. The model knows the three line ends of LSP and no others."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from pygls.workspace import Workspace

from carrel.frontends.lsp.editor_documents import OpenDocument
from carrel.model.lines import lines_of, rows_of

PIECES = ["\n", "\r", "\r\n", "\f", "\v", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "😋", "𐐷", "é", "a", " ", "bc"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.lists(st.sampled_from("\r\na"), max_size=4).map("".join)


@dataclass(frozen=True)
class Edit:
    """Replace what lies between two offsets of characters; shares of the length, so that they suit any text."""

    begin: float
    finish: float
    text: str


def opened(text: str) -> tuple[OpenDocument, Workspace]:
    item = types.TextDocumentItem("file:///a.py", "python", 1, text)
    workspace, document = Workspace(None), OpenDocument(item)
    workspace.text_documents[item.uri] = document
    return document, workspace


SHARES = st.floats(0, 1)
EDITS = st.builds(Edit, SHARES, SHARES, TEXTS)


def position(text: str, offset: int) -> tuple[types.Position, int]:
    """The editor's position of an offset, and the offset that it names: none lies between a carriage return and its line feed."""
    line = start = at = 0
    while at < offset:
        end = 2 if text.startswith("\r\n", at) else 1
        if text[at] in "\r\n" and at + end > offset:
            break  # an editor puts no position inside a line end
        at += end if text[at] in "\r\n" else 1
        if text[at - 1] in "\r\n":
            line, start = line + 1, at
    return types.Position(line, len(text[start:at].encode("utf-16-le")) // 2), at


@given(TEXTS, st.lists(st.lists(EDITS | TEXTS, max_size=4), max_size=3))
def test_the_servers_text_equals_the_editors_after_any_notifications(text: str, notifications: list[list[Edit | str]]) -> None:
    document, workspace = opened(text)
    for version, edits in enumerate(notifications):
        changes = list[types.TextDocumentContentChangeEvent]()
        for edit in edits:
            if isinstance(edit, str):
                text = edit
                changes.append(types.TextDocumentContentChangeWholeDocument(edit))
                continue
            begin, finish = sorted((round(edit.begin * len(text)), round(edit.finish * len(text))))
            (first, begin), (last, finish) = position(text, begin), position(text, finish)
            text = text[:begin] + edit.text + text[finish:]
            changes.append(types.TextDocumentContentChangePartial(types.Range(first, last), edit.text))
        for change in changes:
            workspace.update_text_document(types.VersionedTextDocumentIdentifier(version, document.uri), change)
        assert document.source == text
        assert document.lines == tuple(rows_of(text))


@pytest.mark.parametrize("line", [0, 9_000, 17_999])
def test_a_change_makes_only_the_lines_around_it_anew(line: int) -> None:
    document, _ = opened("wörd = 1\r\n" * 18_000)
    for number in range(100):
        before = set(map(id, lines := document.lines))
        place = types.Position(line + number // 2, number % 9)
        document.apply_change(types.TextDocumentContentChangePartial(types.Range(place, place), "a\n" if number % 2 else "b"))
        assert sum(id(row) not in before for row in document.lines) <= 3
        assert len(lines) == 18_000 + number // 2


@given(TEXTS)
def test_lines_are_those_of_the_model(text: str) -> None:
    model, unfinished = list[str](), ""
    for at, character in enumerate(text):
        unfinished += character
        if character == "\n" or (character == "\r" and not text.startswith("\n", at + 1)):
            model, unfinished = [*model, unfinished], ""
    rows = [*model, unfinished] if unfinished else model
    assert rows_of(text) == rows
    assert lines_of(text) == ([row.rstrip("\r\n") for row in rows] or [""])


def test_positions_beyond_a_line_or_the_text_are_its_end() -> None:
    def check(text: str, line: int, column: int, expected: str) -> None:
        document, _ = opened(text)
        place = types.Position(line, column)
        document.apply_change(types.TextDocumentContentChangePartial(types.Range(place, place), "|"))
        assert document.source == expected

    check("ab\r\ncd", 0, 99, "ab|\r\ncd")
    check("ab\r\ncd", 1, 99, "ab\r\ncd|")
    check("ab\ncd\n", 9, 0, "ab\ncd\n|")
    check("ab\ncd", 2, 0, "ab\ncd|")
    check("", 0, 0, "|")
    check("", 3, 3, "|")
    check("x😋y", 0, 2, "x|😋y")  # inside of a surrogate pair
    check("x😋y", 0, 3, "x😋|y")


def test_a_whole_text_replaces_the_old_one() -> None:
    document, _ = opened("old")
    document.apply_change(types.TextDocumentContentChangeWholeDocument("new\f"))
    assert document.source == "new\f"
