"""Text to token ids, in a way that is easy to write again exactly in another language. TOKENISER.md is the specification."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST_WORD = 40
LONGEST_ENTRY = 24
# A run of capitals before a capitalised word, a capitalised or lower-case word, capitals, digits.
WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def words(text: str) -> list[str]:
    """Lower-cased words of `text`: ASCII letters and digits only, identifiers split at case and digit boundaries."""
    return [word.lower() for word in WORDS.findall(text)]


class Tokeniser:
    """Whole words if the vocabulary has them, else the longest entries that fit, from the left."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self.vocabulary = list(vocabulary)
        self.ids = {entry: i for i, entry in enumerate(self.vocabulary)}
        self._cache: dict[str, tuple[int, ...]] = {}

    def pieces(self, word: str) -> tuple[int, ...]:
        """Ids of one lower-case word; empty if it is too long to be a word."""
        found = self._cache.get(word)
        if found is None:
            found = self._cut(word)
            if len(self._cache) < 2_000_000:
                self._cache[word] = found
        return found

    def _cut(self, word: str) -> tuple[int, ...]:
        whole = self.ids.get(word)
        if whole is not None:
            return (whole,)
        if len(word) > LONGEST_WORD:
            return ()
        out, at = [], 0
        while at < len(word):
            for end in range(min(len(word), at + LONGEST_ENTRY), at, -1):
                entry = self.ids.get(word[at:end])
                if entry is not None:
                    out.append(entry)
                    at = end
                    break
            else:  # a single letter or digit is always there, so this is reached by a damaged vocabulary only
                at += 1
        return tuple(out)

    def encode(self, text: str) -> list[int]:
        """Ids of all words of `text`, in order."""
        out: list[int] = []
        for word in WORDS.findall(text):
            out.extend(self.pieces(word.lower()))
        return out
