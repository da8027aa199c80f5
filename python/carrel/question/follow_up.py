"""Read what a question takes from the turns before it, or from what is in front.

Whether a question goes on, and from which name of an answer, can't be told for sure. So any short question in a conversation is
also searched for with all names of the answer, and with the question before it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from msgspec import Struct, field

from carrel.model.conversation import Message
from carrel.model.lines import lines_of
from carrel.model.native import Candidate, detect_language, path_kinds, split_names
from carrel.model.patterns import lazy_pattern
from carrel.model.types import Query, both_ends
from carrel.question import issue_text, query_words
from carrel.question.query_words import is_small_talk, telling_words

_MOST_TURNS, _LONGEST = 6, 200
"""Turns that are read, and characters of a question that may lean on them: a longer one says itself what it is about."""
_READ, _MOST_BEFORE, _MOST_NAMES, _MOST_WORDS = 20_000, 300, 30, 8
"""Characters of a turn, characters of the question before, names of an answer, words of an item in a list."""
_FEW = 3
"""Telling words that are too few to stand alone."""
_SHOWN, _SHOWN_TO_USERS, _NO_TEST = 0.7, 0.3, 0.1
"""Factors of scores: a file that was spoken of, the same where its users are asked for, a file without the tests asked for."""
_PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "sixth": 5, "former": -2, "latter": -1, "last": -1}
_POINTER = lazy_pattern(
    rf"(?i)\b(?:(?:the|that|this|your)\s+(?P<place>{'|'.join(_PLACES)})"
    r"(?:\s+(?:one|two|part|step|point|bullet|item|case|option|way|thing)s?\b|(?=[\s?.!]*\Z))(?!\s+(?:of|in|from)\b)"
    r"|(?:number|point|step|option)\s+\#?(?P<number>[1-9]\d?)\b(?!\s+(?:of|in|from)\b)|(?:(?:the|which|that)\s+)?(?:\w+\s+)?ones?"
    r"|other\s+\w+s|its?|they|them|theirs?|these|those|this|there|that(?!\s+(?:an?|is|are|was|can|does|has|the|we|i|you)\b))\b"
)
_HERE = lazy_pattern(
    r"(?i)\b(?:this|the\s+(?:current|open|active|selected)|current|selected|open)\s+(?:\w+\s+)?(?:(?P<file>file|module|script"
    r"|document)|(?P<type>class|component|type|struct)|function|method|code|selection|snippet|block|lines?|test)\b"
    r"|\bselect(?:ion|ed)\b|\bhighlighted\b|\bhere\b|\b(?P<this>this|these)\b"
)
_USERS = lazy_pattern(
    r"(?i)\b(?:who|what|which|where|when)\b.{0,60}\b(?:call|us|run|add|referenc|import|invok|depend)(?:s|es?|ed|ers?|ing)?\b(?<!user)"
    r"|\bwho\b.{0,40}\b(?:creat|mak|build|instantiat|construct|register|set|trigger|start)(?:s|es)\b"
)
_TESTS = frozenset("spec specs test tested tests unittest unittests".split())  # noqa: SIM905
_LEFT_OUT = lazy_pattern(r"(?ms)<rag_context>.*?(?:</rag_context>|\Z)|^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1|\Z)")
_QUOTED = lazy_pattern(r"`([^\W\d][\w.:#$!?-]{1,99})(?=[`(\s])[^`\n]{0,99}`")
_PATH = lazy_pattern(r"`?(?<![\w@+/.\\-])((?:[\w@.+-]+/)*[\w@+-][\w@.+-]*\.[A-Za-z]\w{0,9})\b(?!\()`?")
_PLACE = lazy_pattern(r":\d+(?:-\d+)?$")
_ITEM = lazy_pattern(r"(?m)^(?:[-*+]|(?:#{1,6}[ \t]+)?\d{1,3}[.)])[ \t]+(\S.*)|^\|(?![ \t|:-]+$)(.+)\|[ \t]*$(?!\n\|[ \t|:-]+$)")
"""An item of a list, or a row of a table that isn't its head."""


class FollowUp(Struct, frozen=True):
    """What a question takes from elsewhere: `text`, where there is one, is searched for in its place, those `around` it besides.

    `shown` are files that were spoken of. With `in_front` the question is about the file, or the lines, in front. With
    `is_small_talk` it may ask for nothing, or mean what was said, as "is that right?" does.
    """

    text: str | None = None
    around: Mapping[str, str] = field(default_factory=dict[str, str])
    shown: tuple[str, ...] = ()
    in_front: bool = False
    wants_tests: bool = False
    wants_users: bool = False
    is_small_talk: bool = False
    is_short_alone: bool = False
    """Whether nothing but its shortness says that it leans on what was said: it may stand by itself."""

    def gain(self, place: Candidate, score: float, best: float, query: Query) -> float:
        """Return what a place gains by what the question takes from elsewhere; `best` is the best score of all."""
        return self._score(place, score, best, query) - score

    def _score(self, place: Candidate, score: float, best: float, query: Query) -> float:
        lines = query.selection
        if self.in_front and place.path == query.active_path and not (self.wants_tests or self.wants_users):
            is_selected = lines is not None and place.start_line <= lines.end_line and lines.start_line <= place.end_line
            return score + best * (1 + is_selected)
        if any(place.path == path or place.path.endswith(f"/{path}") for path in self.shown):
            score *= _SHOWN_TO_USERS if self.wants_users else _SHOWN
        return score * (_NO_TEST if self.wants_tests and "test" not in path_kinds(place.path) else 1.0)


def turns_read(history: Sequence[Message]) -> list[Message]:
    """Return the turns of a conversation that are read: the newest of people and models, without code blocks and old context."""
    said = [turn for turn in history if turn.role in ("user", "assistant")][-_MOST_TURNS:]
    return [Message(turn.role, _LEFT_OUT.sub(" ", turn.text[: 10 * _READ])[:_READ]) for turn in said]


def _is_list_of_places(answer: str) -> bool:
    """Tell whether an answer names several places and says nothing of them, as a client does that asks no model."""
    lines = [line for line in lines_of(answer) if line.strip()]
    return len(lines) > 1 and all(map(_PLACE.search, lines))


def symbol_meant(query: Query) -> str | None:
    """Return "type" or "any" where a question is about the class, or any definition, around what is selected."""
    if not query.selection or not (here := _in_front(query)) or (kinds := here.groupdict()).get("file"):
        return None
    return "type" if kinds.get("type") else "any"


def read(query: Query, said: Sequence[Message], symbol: str | None = None) -> FollowUp:
    """Read what a question takes from the turns read, or from what is in front, whose name `symbol` may be."""
    text, path = query.text.strip(), query.active_path
    if not text or len(text) > _LONGEST or issue_text.read(text):
        return FollowUp()
    tests, users = not _TESTS.isdisjoint(split_names(text)), _USERS.search(text) is not None
    if path and (here := _in_front(query)):
        name = symbol or PurePosixPath(path).stem
        meant = _with_name(text, here, name, (), as_written=users and symbol is not None)
        return FollowUp(meant, {}, (path,), True, tests, users)
    question = query_words.read(text)
    if not said or question.is_symbol or query_words.is_code(question.quoted):
        return FollowUp()
    answers = [turn.text for turn in reversed(said) if turn.role == "assistant"]
    questions = (both_ends(turn.text.strip(), _MOST_BEFORE) for turn in reversed(said) if turn.role == "user")
    before = next((question for question in questions if len(telling_words(question)) > 1), "")
    spoken = [turn.text for turn in reversed(said) if turn.role == "user" or not _is_list_of_places(turn.text)]
    named = [names[:_MOST_NAMES] for text_before in spoken if (names := _names(text_before))]
    names = next((names for names in named if not all(map(_is_word, names))), named[0] if named else [])
    shown = next((paths for answer in answers if (paths := tuple(filter(detect_language, _PATH.findall(answer))))), ())
    pairs = {"names": (text, " ".join(names)), "question": (before, text)}
    around = {key: " ".join(pair) for key, pair in pairs.items() if all(pair)}
    if is_small_talk(text):
        return FollowUp(None, around, is_small_talk=True) if "?" in text or _POINTER.search(text) else FollowUp()
    name, words = _meant(text, "".join(answers[:1]), names or [PurePosixPath(path).stem for path in shown], before)
    pointer = _POINTER.search(text)
    if not (name or words) or not (pointer or (len(telling_words(text)) <= _FEW and not _names(text))):
        return FollowUp(None, around)
    meant = _with_name(text, pointer, name, words, as_written=users)
    return FollowUp(meant, around, shown, False, tests, users, is_short_alone=pointer is None)


def _in_front(query: Query) -> re.Match[str] | None:
    """Return the words of a question that stand for the file, or the lines, in front."""
    text = query.text
    said = list(_HERE.finditer(text)) if query.active_path else []
    if (here := next((match for match in said if not match["this"]), None)) and not _names(_HERE.sub(" ", text)):
        return here
    return said[0] if said and query.selection and len(telling_words(text)) <= _FEW else None


def _meant(text: str, answer: str, names: Sequence[str], before: str) -> tuple[str, list[str]]:
    """Return the name that a question means, the answer's first or that at the place asked for, and words beside it."""
    name = "" if _is_list_of_places(answer) else next(iter(names), "")
    if place := next((match for match in _POINTER.finditer(text) if match["place"] or match["number"]), None):
        at = int(place["number"]) - 1 if place["number"] else _PLACES[place["place"].lower()]
        items = [item or row for item, row in _ITEM.findall(answer)]
        if len(items) > 1 and -len(items) <= at < len(items):
            return next(iter(_names(items[at])), ""), telling_words(items[at])[:_MOST_WORDS]
        name = names[at] if -len(names) <= at < len(names) else name
    return name, telling_words(before)[:_MOST_WORDS] if _is_word(name) else []


def _with_name(text: str, pointer: re.Match[str] | None, name: str, words: Sequence[str], *, as_written: bool) -> str:
    """Return a question with the name that it means: as it is written in the place of the pronoun, else its words behind."""
    if as_written and name:
        return f"{text[: pointer.start()]}`{name}`{text[pointer.end() :]}" if pointer else f"{text} `{name}`"
    return " ".join(dict.fromkeys([text, *split_names(name), *words]))


def _is_word(name: str) -> bool:
    return not name or (name.islower() and not query_words.is_code(name))


def _names(text: str) -> list[str]:
    """Return the names that a text quotes, else those that it has without quotes; files are none."""
    text = _PATH.sub(lambda match: " " if detect_language(match[1]) else match[0], text)
    if quoted := _QUOTED.findall(text):
        return list(dict.fromkeys(quoted))
    question = query_words.read(text)
    return list(question.names) if question.is_symbol or not question.identifier else []
