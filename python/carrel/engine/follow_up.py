"""What a question that can't be answered by its own words speaks of, by rules that cost nothing.

"And how is that tested?" speaks of what was said before, "what does this file do?" of the file in front. Such a question is
searched for with the name of its subject beside its own words; what was shown before gives way then, because a follow-up asks
for something else. A question with a subject of its own is left as it is: the topic has changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Literal

from carrel.core.conversation import Message
from carrel.core.native import Candidate, path_kinds, split_names
from carrel.core.types import Query
from carrel.engine import issue_text, query_words, spoken_of
from carrel.engine.confidence import is_small_talk
from carrel.engine.spoken_of import names_in, telling

MOST_TURNS = 6
LONGEST = 200
"""Characters of a question that may lean on what was said. A longer one says itself what it is about."""
FEW = 2
"""Telling words that are too few to stand alone: beside "this", or with "the" thing of the last answer. After "and" it takes one
more, unless a subject is among them; without any of it, one is too few."""
_FEW_OF_FORM = 5
"""Telling words of a question that goes on by its form: "where does the connection actually get dropped then"."""
_LONGEST_NAMES = 600
"""Characters of the names of an answer that are searched for."""
_SUBJECT_BEFORE = 2
"""With so many telling words before it, `its` speaks of them; any other pronoun with one more, and one that ends the question
with two more."""

SHOWN = 0.7
SHOWN_TO_USERS = 0.3
NO_TEST = 0.1
"""Factors of scores, fitted on two thirds of the repositories of tests/bench/turns.json and dialogues.json: a file that the last
answer named, the same where the question asks who uses it, and a file without tests where it asks for tests."""

LEAD = re.compile(r"^(?:(?:and|but|so|ok|okay|yes|thanks?|then|also|now|hm+)\b[\s,.!:-]*)+", re.IGNORECASE)
_ALSO = re.compile(r"^(?:(?:and|but|so|ok|okay|then|also)\b[\s,]*)*(?:(?:what|how)\s+about\b|(?:and|also)\b)", re.IGNORECASE)
_ASKS = re.compile(
    r"(?:who|what|which|where|when|why|how|is|are|was|were|do|does|did|can|could|has|have|should|would|will|show|explain)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their|theirs|this|these|those|that(?!\s+(?:a|an|is|are|was|can|does|has|the|we|i|you)\b)|there"
    r"|(?:the\s+)?(?:other|second|first|same|latter|former|next|previous|last|new|old)\s+ones?|(?:the|which|other)\s+ones?"
    r"|(?:the\s+)?(?:latter|former|same)|else|instead|other\s+\w+s)\b",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"(?:(?:how|why|where|when)(?:'s|\s+(?:is|are|was|were|do|does|did|can|could|has|have|should|would|will))"
    r"|what(?:'s|\s+(?:is|are|was|were|do|does|did))|(?:explain|show)(?:\s+me)?)\s+(?:(?:an?|the|our|your)\s+)?(\w+)",
    re.IGNORECASE,
)
"""The beginning of a question that has a subject, and that: "how does authentication work", not "which strategies are there"."""
_TAIL = re.compile(r"\b(?:then|too|though|instead|anymore|as\s+well|(?:the|that|this)\s+\w+\s+ones?)[\s?.!]*\Z", re.IGNORECASE)
"""Match how a question ends that goes on from something: "what does the client get then?"."""
_DONE_TO_IT = re.compile(
    r"\b(?:turn|switch|do|change|disable|enable|configure|avoid|set|make|get|see|show|use)\s+(?:that|this|it|those|these)\b"
    r"(?=\s+(?:off|on|in|to|for|with|up|down|out|away|back|by|at|from|as|works?|happens?)\b|[\s?.!]*\Z)",
    re.IGNORECASE,
)
_WHERE_THE = re.compile(r"where(?:'s|\s+(?:is|are|does|do))\s+the\b", re.IGNORECASE)
_POSSESSIVE = frozenset({"its", "their"})
_BEFORE_THAT = re.compile(r"(?:^(?P<asks>who|what|which)\s+)?(?P<word>\w+)\s+that$", re.IGNORECASE)
_POINTS = frozenset(
    """
    about after and are as at before but by can could did do does explain for from had has have if in into is like of on or s
    show should than then through to under until use used uses using was were will with without would
    """.split()  # noqa: SIM905 - a list of words reads best as text
)
"""Words before a `that` which speaks of something, instead of beginning a clause: "where is that limit set"."""
_ENDS = re.compile(r"[\s?.!)]*\Z")
_EXISTS = re.compile(r"\b(?:is|are|was|were)\s+there\b|\bthere\s+(?:is|are|was|were)\b", re.IGNORECASE)
_HERE = re.compile(
    r"\b(?:this|the\s+(?:current|open|active|selected)|current|selected|open)\s+(?:\w+\s+)?"
    r"(?:file|function|method|class|module|code|selection|snippet|block|script|component|line|lines|test|type|struct|document)\b"
    r"|\b(?:selection|selected|highlighted)\b|\bhere\b",
    re.IGNORECASE,
)
_THIS = re.compile(r"\b(?:this|these)\b", re.IGNORECASE)
_FILE = re.compile(r"\b(?:file|module|script|document)\b", re.IGNORECASE)
_TYPE = re.compile(r"\b(?:class|component|type|struct)\b", re.IGNORECASE)
_USERS = re.compile(
    r"\b(?:who|what|which|where|when)\b.{0,60}\b(?:call(?:s|ed|ers?)?|use[sd]?|users|run[s]?|adds?|references?|imports?|invokes?"
    r"|depends?|defined)\b"
    r"|\bwho\b.{0,40}\b(?:creates?|makes?|builds?|instantiates?|constructs?|installs?|registers?|sets?|triggers?|starts?|fires?)\b",
    re.IGNORECASE,
)
_TESTS = re.compile(r"\b(?:tests?|tested|unit\s*tests?|specs?)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reference:
    """What a question speaks of without naming it. `text` is searched for in its place.

    `shown` are files that were spoken of. `in_front` says that the question is about the file, or the lines, in front.
    """

    text: str
    shown: tuple[str, ...] = ()
    in_front: bool = False
    wants_tests: bool = False
    wants_users: bool = False

    def searched(self, query: Query) -> Query:
        """Return the query whose candidates hold what is in front, where the question is about that."""
        asked = self.in_front and query.active_path and not self.wants_tests and not self.wants_users
        return replace(query, pinned=(*query.pinned, query.active_path)) if asked and query.active_path else query

    def reordered(self, candidates: Sequence[Candidate], scores: Sequence[float], query: Query) -> list[tuple[Candidate, float]]:
        """Return the candidates with their scores in the order that the reference makes of it, best first.

        `query` says which file and lines are in front, as far as they may be read.
        """
        top = max(scores, default=0.0)
        elsewhere = self.wants_tests or self.wants_users
        found: list[tuple[Candidate, float]] = []
        for candidate, score in zip(candidates, scores, strict=True):
            factor = NO_TEST if self.wants_tests and "test" not in path_kinds(candidate.path) else 1.0
            added = 0.0
            if self.in_front and candidate.path == query.active_path and not elsewhere:
                added = top * (1 + _is_selected(candidate, query))
            elif any(candidate.path == path or candidate.path.endswith(f"/{path}") for path in self.shown):
                factor *= SHOWN_TO_USERS if self.wants_users else SHOWN
            found.append((candidate, score * factor + added))
        return sorted(found, key=lambda pair: -pair[1])


def symbol_meant(query: Query) -> Literal["any", "type"] | None:
    """Tell whether a question is about the function, or the class, around what is selected, and not about the whole file."""
    text = _short(query)
    if text is None or query.selection is None or not query.active_path or not _is_about_front(text, query):
        return None
    said = " ".join(match[0] for match in _HERE.finditer(text))
    return None if _FILE.search(said) else "type" if _TYPE.search(said) else "any"


def _short(query: Query) -> str | None:
    """Return the text of a question that may lean on something."""
    text = query.text.strip()
    return text if text and len(text) <= LONGEST and issue_text.read(text) is None else None


def resolve(query: Query, history: Sequence[Message], symbol: str | None = None) -> Reference | None:
    """Return what a question speaks of, by the file in front or the turns before it; None where it stands alone.

    `symbol` is the name of what `symbol_meant` asks for, where that is known: it takes the place of the file's name.
    """
    text = _short(query)
    if text is None:
        return None
    wants_tests, wants_users = _TESTS.search(text) is not None, _USERS.search(text) is not None
    if query.active_path and _is_about_front(text, query):
        name = symbol or PurePosixPath(query.active_path).stem
        words = [name] if symbol and wants_users else split_names(name)
        expanded = _expanded(_HERE.sub(" ", text), words) if wants_tests or wants_users else f"{text} {name}"
        return Reference(expanded, (query.active_path,), True, wants_tests, wants_users)
    said = turns_read(history)
    if not said or not (needs_history(text) or _points_at_answer(text, said)):
        return None
    spoken = spoken_of.meant(text, said, users=wants_users)
    if not spoken.words:
        return None
    asked = f"{text}?" if wants_users and text[-1].isalnum() else text  # what follows is the name that was spoken of
    return Reference(_expanded(asked, spoken.words), spoken.paths, False, wants_tests, wants_users)


def turns_read(history: Sequence[Message]) -> list[Message]:
    """Return the turns of a conversation that are read: the newest of people and models."""
    return [turn for turn in history if turn.role in ("user", "assistant")][-MOST_TURNS:]


def beside(query: Query, history: Sequence[Message], reference: Reference | None) -> dict[str, str]:
    """Return what a question in a conversation is searched for with beside its own words, by what that takes in.

    The names of the newest answer, and the question before; nothing where the question is about what is in front, an identifier
    alone, or a greeting.
    """
    text = _short(query)
    said = turns_read(history)
    if text is None or not said or (reference is not None and reference.in_front) or is_small_talk(text):
        return {}
    question = query_words.read(text)
    if question.is_symbol or query_words.is_code(question.quoted):
        return {}
    names = " ".join(spoken_of.subjects(said)[0])
    names = names if len(names) <= _LONGEST_NAMES else names[:_LONGEST_NAMES].rpartition(" ")[0]
    texts = {"names": (text, names), "question": (spoken_of.question_before(said), text)}
    return {name: " ".join(pair) for name, pair in texts.items() if all(pair)}


def needs_history(text: str) -> bool:
    """Tell whether a question speaks of something that it doesn't name."""
    question = query_words.read(text)
    if question.is_symbol or query_words.is_code(question.quoted):
        return False
    alone = LEAD.sub("", text)
    few = len(telling(alone))
    if not few and not question.names:  # "tell me more": there is nothing of its own to search for
        return not is_small_talk(text)
    if _ALSO.match(text) and few <= FEW + 1:
        return few < FEW or not _has_subject(alone) or _PRONOUN.search(text) is not None
    if _ASKS.match(alone) and few < FEW and not question.names and not _has_subject(alone):
        return True
    return (not question.names and _leans_by_form(alone)) or _leans_by_pronoun(text)


def _points_at_answer(text: str, said: Sequence[Message]) -> bool:
    """Tell whether a short question has "the" thing which the last answer told of: "what happens if the token is wrong"."""
    question = query_words.read(text)
    named = question.is_symbol or question.names or query_words.is_code(question.quoted)
    return not named and len(telling(text)) <= FEW and spoken_of.points_at(text, said)


def _leans_by_form(text: str) -> bool:
    """Tell whether a question has the form of one that goes on: "the third one", "turn that off", "where's the default set"."""
    words = telling(text)
    if len(words) > _FEW_OF_FORM:
        return False
    if _TAIL.search(text) or _DONE_TO_IT.search(text) or spoken_of.has_ordinal(text):
        return True
    return _WHERE_THE.match(text) is not None and all(word in _RELATIONAL for word in words)


def _leans_by_pronoun(text: str) -> bool:
    """Tell whether too little that a pronoun could speak of stands before it."""
    for match in _PRONOUN.finditer(_EXISTS.sub(lambda found: " " * len(found[0]), text)):
        ends = _ENDS.match(text, match.end()) is not None
        if match[0].lower() == "that" and not ends and _is_relative(LEAD.sub("", text[: match.end()])):
            continue  # `the error that it gives`
        enough = _SUBJECT_BEFORE + (2 if ends else match[0].lower() not in _POSSESSIVE)
        if len(telling(text[: match.start()])) < enough:
            return True
    return False


def _is_relative(text: str) -> bool:
    """Tell whether the `that` at the end of a text begins a clause about the word before it."""
    before = _BEFORE_THAT.search(text)
    return before is not None and not before["asks"] and before["word"].lower() not in _POINTS


def _has_subject(text: str) -> bool:
    """Tell whether a question begins with a subject: a telling word, and not for something that something else has."""
    match = _WHOLE.match(text)
    return match is not None and telling(match[1]) != [] and match[1].lower() not in _RELATIONAL


def _is_about_front(text: str, query: Query) -> bool:
    if _HERE.search(text):
        return not names_in(_HERE.sub(" ", text))
    return query.selection is not None and _THIS.search(text) is not None and len(telling(text)) <= FEW


def _is_selected(candidate: Candidate, query: Query) -> bool:
    lines = query.selection
    return lines is not None and candidate.start_line <= lines.end_line and lines.start_line <= candidate.end_line


def _expanded(text: str, words: Sequence[str]) -> str:
    return f"{text} {' '.join(words)}"


_RELATIONAL = frozenset(
    """
    advantage advantages alternative alternatives argument arguments arg args author benefit body bug callers cause causes
    condition conditions config configured content contents cost declared default defaults defined definition dependencies
    difference differences effect error errors exception exceptions fields fix format goal idea implementation input inputs issue
    limit limits maximum members methods minimum motivation name names option options order output outputs owner parameter
    parameters params parent path point problem properties purpose range reason reasons result results return returns rest rule
    rules set signature size solution source state status step steps structure subclasses syntax value values version
    """.split()  # noqa: SIM905 - a list of words reads best as text
)
"""Words for what something else has: "what is the default?" asks for that of what was spoken of."""
