"""Questions that aren't English, in the words that code is written in: by a glossary, with names and paths as they are.

German, French, Spanish, Chinese and Russian are known by their script, or by words of questions; anything else is left alone.
A word that the glossary (`glossary.txt`) lacks stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from carrel.model.patterns import lazy_pattern

_LATIN = ("de", "fr", "es")
_COLUMNS = (*_LATIN, "zh", "ru")
_TOKEN = lazy_pattern(r"[\u3400-\u9fff]+|`[^`]*`|[^\s\u3400-\u9fff`]+")
_WORD = lazy_pattern(r"[^\W\d_]+")
_NAME = lazy_pattern(r"\d|_|[a-z][A-Z]|[A-Z]{2}|\w[.:/\\#]+\w|^[:./@]")
"""What is a name or code: it stays as it is."""
_ELIDED = frozenset("c d j l m n s t qu jusqu lorsqu".split())  # noqa: SIM905
"""French words that lose their vowel before another."""
_MARKED = "\ue000"
"""Stands before what a phrase was replaced by; of no script."""
_LONGEST = 2_000
"""Characters: a longer text is no question that somebody typed."""
_LEAST_IN_COMPOUND = 4
_LEAST_CYRILLIC = 3
"""A letter or two may be a sign."""


class Glossary(NamedTuple):
    """One language: English by the beginning of a word, phrases by themselves, and the words of questions."""

    stems: Mapping[str, str]
    phrases: Mapping[str, str]
    stop_words: frozenset[str]
    longest: int


class Meant(Struct, frozen=True):
    """A question in the words of code, and its own telling words, which comments may hold."""

    text: str
    own_words: tuple[str, ...]


def in_english(text: str, english: frozenset[str]) -> Meant | None:
    """Return what a question in another language means; None where it is English, or nothing is known of the language.

    `english` are the words of English questions.
    """
    language = _language_of(text, english) if len(text) <= _LONGEST else None
    if language is None:
        return None
    glossary = _glossary(language)
    words, telling = list[str](), list[str]()
    for part in _parts(_with_phrases(text, glossary)):
        if language == "zh" and _is_han(part[0]):
            _split_han(part, glossary, words, telling)
        elif part.startswith(_MARKED):
            words.append(part.removeprefix(_MARKED).replace(_MARKED, " "))
        elif part.startswith("`") or _NAME.search(part) or (words and language != "de" and part[:1].isupper() and part.isascii()):
            words.append(part)  # only German has capitals within a sentence that begin no name
        else:
            for word in _WORD.findall(part):
                plain = _plain(word)
                if plain not in glossary.stop_words:
                    words.append(_translated(plain, glossary, compounds=language == "de") or word)
                    telling.append(word)
    return Meant(" ".join(words), tuple(telling)) if words else None


def _language_of(text: str, english: frozenset[str]) -> str | None:
    if not text.isascii():
        if any("\u3040" <= char <= "\u30ff" for char in text):  # kana
            return None
        if any(map(_is_han, text)):
            return "zh"
        if sum(map(_is_cyrillic, text)) >= _LEAST_CYRILLIC:
            return "ru"
    words = [_unelided(word).strip(".,;:!?()\"'") for word in text.split() if not _NAME.search(word)]
    plain = {_plain(word) for word in words if word}
    accented = sum(not word.isascii() for word in words)
    spoken = sum(word in english for word in plain)
    best, most = None, 1
    for language in _LATIN:
        glossary = _glossary(language)
        stopped = sum(word in glossary.stop_words for word in plain)
        if not stopped or stopped + accented <= spoken:
            continue
        foreign_words = sum(_is_foreign(word, glossary, language) for word in plain if word not in glossary.stop_words)
        if stopped + foreign_words + accented > most:
            best, most = language, stopped + foreign_words + accented
    return best


def _is_han(char: str) -> bool:
    return "\u3400" <= char <= "\u9fff"


def _is_cyrillic(char: str) -> bool:
    return "\u0400" <= char <= "\u04ff"


def _unelided(word: str) -> str:
    before, _, rest = word.replace("\u2019", "'").partition("'")
    return rest if rest and before.lower() in _ELIDED else word


def _is_foreign(word: str, glossary: Glossary, language: str) -> bool:
    meant = _translated(word, glossary, compounds=language == "de")
    return bool(meant) and not any(word.startswith(english) for english in meant.split())


def _parts(text: str) -> Iterator[str]:
    for token in _TOKEN.findall(text):
        part = _unelided(token)
        parts = part.rstrip(".,;:!?").split("-")
        yield from parts if all(len(word) > 1 and word.isalpha() for word in parts) else [part]


def _translated(word: str, glossary: Glossary, *, compounds: bool) -> str:
    for end in range(min(len(word), glossary.longest), 1, -1):
        if english := glossary.stems.get(word[:end]):
            more = _compound(word[end:], glossary) if compounds else ""
            return f"{english} {more}".strip()
    return _compound(word, glossary) if compounds else ""


def _compound(word: str, glossary: Glossary) -> str:
    """Return what is known of the parts of a word that is put together of several."""
    parts, at = list[str](), 0
    while at < len(word):
        for end in range(min(len(word), at + glossary.longest), at + _LEAST_IN_COMPOUND - 1, -1):
            if english := glossary.stems.get(word[at:end]):
                parts.append(english)
                at = end
                break
        else:
            at += 1
    return " ".join(parts)


def _split_han(run: str, glossary: Glossary, words: list[str], telling: list[str]) -> None:
    """Cut a run of Chinese, which has no spaces, along the words that are known, the longest first."""
    at = 0
    while at < len(run):
        for end in range(min(len(run), at + glossary.longest), at, -1):
            word = run[at:end]
            if english := glossary.stems.get(word):
                words.append(english)
                telling.append(word)
            if english or word in glossary.stop_words:
                at = end
                break
        else:
            at += 1


def _with_phrases(text: str, glossary: Glossary) -> str:
    plain = " ".join(map(_plain, text.split()))
    for phrase, english in glossary.phrases.items():
        if phrase in plain:
            words = r"\s+".join(map(_loosely, phrase.split()))
            text = re.sub(words, f" {_MARKED}{english.replace(' ', _MARKED)} ", text, flags=re.IGNORECASE)
    return text


def _loosely(word: str) -> str:
    """Return a pattern for a word with or without accents, and its ending."""
    accented = {"a": "àáâ", "e": "èéê", "i": "íî", "o": "óô", "u": "úû", "n": "ñ", "c": "ç"}
    return "".join(f"[{c}{accented[c]}]" if c in accented else re.escape(c) for c in word) + r"\w*"


def _plain(word: str) -> str:
    """Return a word in lower case without accents; Cyrillic letters stay."""
    if word.isascii():
        return word.lower()
    word = word.lower().replace("ß", "ss").replace("ё", "е")  # noqa: RUF001 - Cyrillic
    if any(map(_is_cyrillic, word)):
        return word
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


@cache
def _glossary(language: str) -> Glossary:
    column = _COLUMNS.index(language) + 1
    stems, phrases, stop_words = dict[str, str](), dict[str, str](), list[str]()
    for row in Path(__file__).with_name("glossary.txt").read_text("utf-8").split("\n"):
        english, *_ = cells = row.split(" | ")
        if row.startswith(f"{language}: "):
            stop_words = row.split()[1:]
        elif len(cells) > len(_COLUMNS):
            for stem in cells[column].split(","):
                (phrases if " " in stem else stems).setdefault(stem, english)
    return Glossary(stems, phrases, frozenset(stop_words), max(map(len, stems)))
