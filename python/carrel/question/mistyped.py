"""Names that a person mistyped: searched for as the code writes them."""

from __future__ import annotations

from collections.abc import Sequence

from carrel.model.local_index import SnapshotView
from carrel.model.native import Candidate
from carrel.model.patterns import whole_word
from carrel.question import query_words
from carrel.question.prepare import SearchText

_MOST_NAMES = 3
"""So many names of a question are looked at: each is compared with all that the code defines."""


def corrected(view: SnapshotView, search_text: SearchText, candidates: Sequence[Candidate]) -> SearchText | None:
    """Return what to search for in place of a text whose names are mistyped; None where none is, or nothing is near.

    `candidates` are those of the text as it stands: where one defines what it names, it is right. A name is mistyped if no
    code defines it and no text has it. A change may name what isn't there yet.
    """
    question = search_text.question
    if question.is_change or question.is_small_talk or any(candidate.defines for candidate in candidates):
        return None
    text = question.text
    for name in question.names[:_MOST_NAMES]:
        if near := view.near_names(name, 1):
            text = whole_word(name).sub(near[0].replace("\\", r"\\"), text)
    if text == question.text:
        return None
    # The vector of a mistyped word says nothing, that of a sentence with one enough.
    return SearchText(query_words.read(text), b"" if question.identifier else search_text.vector)
