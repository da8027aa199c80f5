"""Find what the turns before a question spoke of, and which of it the question means.

An answer is about what it names first, unless the question says more: which of several things it means ("the second one" is an
item of a list, or a row of a table), of what kind it is ("that option", "that module"), or words of the sentence that tells
of it. Nothing is understood; all is read as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import PurePosixPath

from carrel.core.conversation import Message
from carrel.core.native import split_names, stem
from carrel.core.types import both_ends
from carrel.engine import query_words

_QUOTED = re.compile(r"`([^`\n]{2,120})`")
_PATH = re.compile(r"(?<![\w@+/.\\-])((?:[\w@.+-]+/)*[\w@+-][\w@.+-]*\.[A-Za-z]\w{0,9})\b(?!\()")
_FILE_NAME = re.compile(r"(?:[\w@.+ -]+/)+[\w@.+-]+|[\w@+-]+\.(?!\w*[A-Z])[a-z]\w{0,5}")
_CALLABLE = re.compile(r"^[^\W\d][\w.:#$!?-]*(?=\(|\Z|\s+[=<>])")
_GIVEN = re.compile(r"<rag_context>.*?(?:</rag_context>|\Z)", re.DOTALL)
"""Context that a client has put before an earlier question."""
_READ = 20_000
"""Characters of a message that are read, context left out."""
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^(?P<indent>[ \t]*)(?:[-*+]|(?:\#{1,6}[ \t]+)?(?P<number>\d{1,3})[.)])[ \t]+(?P<text>\S.*)", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*\|(.+)\|[ \t]*$", re.MULTILINE)
_RULE_OF_TABLE = re.compile(r"[\s|:-]+")
_COUNTED = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_PLACES = {word: at for at, word in enumerate(_COUNTED)} | {"former": -2, "latter": -1, "last": -1}
_ORDINAL = re.compile(
    rf"\b(?:(?:the|that|this|your)\s+(?P<which>{'|'.join(_PLACES)})(?:\s+(?:ones?|parts?|steps?|points?|bullets?|items?|cases?"
    r"|options?|ways?|things?|two)\b|(?=[\s?.!]*\Z))|the\s+(?P<of_two>former|latter)\b"
    r"|(?:number|point|step|option)\s+\#?(?P<number>[1-9]\d?)\b)(?!\s+(?:of|in|from)\b)",
    re.IGNORECASE,
)
_KIND = re.compile(r"\b(?:that|the|this|its)\s+(?:\w+\s+)?(?P<kind>option|setting|flag|default|module)\b", re.IGNORECASE)
_OPTION = re.compile(
    r"`(?P<before>[\w.:-]+)`\s+(?:option|setting|flag|parameter|config\w*|key|env\w*)"
    r"|(?:option|setting|flag|parameter|key|constant)\s+(?:is\s+)?`(?P<behind>[\w.:-]+)`",
    re.IGNORECASE,
)
_SNAKE = re.compile(r"`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?![\w(.])")
"""A quoted name in small letters with underscores, and without a call's bracket: so options are written."""
_DEFINITE = re.compile(r"\b(?:the|that|this|those|these)\s+(?P<what>\w+(?:[ \t]+\w+)?)", re.IGNORECASE)
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?;](?=\s)|\n|\Z)")
_LONGEST_QUESTION = 300
"""Characters of an earlier question that are searched for."""
_ITEM_WORDS = 8
_QUESTION_WORDS = 6
_VALUES = frozenset(
    """
    array bool boolean dict err error exception false float hash int integer list map nan nil none null number object promise self
    set str string symbol this true undefined void
    """.split()  # noqa: SIM905 - a list of words reads best as text
)
"""Values and types that occur in any program, in small letters. No question is about one that an answer happens to quote."""


@dataclass(frozen=True, slots=True)
class Meant:
    """Hold what a question speaks of: `words` to search for, and the files that the newest answer with any shows."""

    words: tuple[str, ...]
    paths: tuple[str, ...] = ()


def has_ordinal(text: str) -> bool:
    """Tell whether a question means one of several things by its place among them: "the second one"."""
    return _ORDINAL.search(text) is not None


def points_at(text: str, turns: Sequence[Message]) -> bool:
    """Tell whether a question speaks of "the …" or "that …" which the newest answer told of in a sentence with a name."""
    pointed = {word for found in _DEFINITE.finditer(text) for word in _stems(found["what"])}
    sentences = (found[0] for found in _SENTENCE.finditer(_newest_answer(turns))) if pointed else ()
    return any(_quoted_names(sentence) and pointed & _stems(sentence) for sentence in sentences)


def meant(text: str, turns: Sequence[Message], *, users: bool) -> Meant:
    """Return what a question speaks of, by the newest turns that say it; no words where they say nothing.

    With `users`, who uses something is asked: its name is given as it is written, else its words.
    """
    names, paths = subjects(turns)
    asked = next((words for turn in reversed(turns) if turn.role == "user" and (words := telling(_said(turn)))), [])
    answer = _newest_answer(turns)
    beside: list[str] = []
    if ordinal := _ORDINAL.search(text):
        item = _item(answer, ordinal)
        if item:
            names, beside = _quoted_names(item), telling(item)[:_ITEM_WORDS]
        elif name := _at_place(names, ordinal):
            names = [name]
    elif kind := _KIND.search(text):
        is_file = kind["kind"].lower() == "module"
        names = ([] if paths else names) if is_file else (_options(answer) or names)
    elif nearest := _names_of_sentence(answer, _stems(text) - {stem(word) for word in asked}):
        names, beside = nearest, split_names(" ".join(nearest[1:2]))
    if not names and not beside:
        names, beside = ([PurePosixPath(paths[0]).stem], []) if paths else ([], asked[:_QUESTION_WORDS])
    elif not beside and not _is_code(names[0]):  # a word alone says little
        beside = asked[:_QUESTION_WORDS]
    if users and names:
        return Meant((names[0],), paths)
    return Meant(tuple(dict.fromkeys([*split_names(" ".join(names[:1])), *beside])), paths)


def subjects(turns: Sequence[Message]) -> tuple[list[str], tuple[str, ...]]:
    """Return the names of the newest turn that has any, in its order, and the files that the newest answer till there shows.

    An answer begins with what it is about. One that quotes words alone ("it sends `text`") is about what its question named,
    where that is no word: `send_letter`, which comes first then.
    """
    names: list[str] = []
    paths: tuple[str, ...] = ()
    for turn in reversed(turns):
        text = _said(turn)
        found_paths = [path for path in dict.fromkeys(_PATH.findall(text)) if _is_path(path)]
        plain = _PATH.sub(lambda found: " " if _is_path(found[0]) else found[0], text)  # the ending of a file is no name
        named = _quoted_names(text) or _subjects_of(names_in(plain))
        if turn.role == "assistant" and not paths:
            paths = tuple(found_paths)
        if names:
            asked = [name for name in dict.fromkeys(named) if query_words.is_code(name)]
            names = [*asked, *(name for name in names if name not in asked)]
            break
        names = list(dict.fromkeys(named))
        if names and (turn.role == "user" or any(_is_code(name) for name in names)):
            break
    return names, paths


def question_before(turns: Sequence[Message]) -> str:
    """Return the newest question that says what it is about, without blocks of code, of a long one both ends."""
    asked = (_FENCE.sub(" ", _said(turn)).strip() for turn in reversed(turns) if turn.role == "user")
    return next((short for text in asked if len(telling(short := both_ends(text, _LONGEST_QUESTION))) > 1), "")


def _newest_answer(turns: Sequence[Message]) -> str:
    return next((_said(turn) for turn in reversed(turns) if turn.role == "assistant"), "")


def _said(turn: Message) -> str:
    return _GIVEN.sub(" ", turn.text)[:_READ].encode(errors="replace").decode()  # half a character of UTF-16 has no code


def _names_of_sentence(answer: str, words: AbstractSet[str]) -> list[str]:
    """Return the names in the sentence of an answer that has most of these stems; where it has none, the last one before it."""
    best: tuple[int, re.Match[str]] | None = None
    for sentence in _SENTENCE.finditer(answer) if words else ():
        shared = len(words & _stems(sentence[0]))
        if shared > (best[0] if best else 0):
            best = (shared, sentence)
    if best is None:
        return []
    sentence = best[1]
    return _quoted_names(sentence[0]) or _quoted_names(answer[: sentence.start()])[-1:]


def _item(answer: str, ordinal: re.Match[str]) -> str | None:
    """Return an item of an answer's list, else a row of its table, by the number or the place that is asked for; None without."""
    found = list(_ITEM.finditer(_FENCE.sub("", answer)))
    outer = [item for item in found if item["indent"] == found[0]["indent"]]
    numbered = [item for item in outer if item["number"]]
    if number := ordinal["number"]:
        return next((item["text"] for item in numbered if item["number"] == number), None)
    items = [item["text"] for item in (numbered if len(numbered) > 1 else outer)]
    if len(items) < 2:
        items = [row for row in _ROW.findall(answer) if not _RULE_OF_TABLE.fullmatch(row)][1:]
    return _at_place(items, ordinal) if len(items) > 1 else None


def _at_place(things: Sequence[str], ordinal: re.Match[str]) -> str | None:
    """Return what stands at the place that is asked for; None, where there are fewer."""
    at = int(ordinal["number"]) - 1 if ordinal["number"] else _PLACES[(ordinal["which"] or ordinal["of_two"]).lower()]
    return things[at] if -len(things) <= at < len(things) else None


def _options(answer: str) -> list[str]:
    """Return the names that an answer calls an option, else those that are written like one."""
    called = [found["before"] or found["behind"] for found in _OPTION.finditer(answer)]
    return [name for name in called if _is_code(name)] or _SNAKE.findall(answer)


def _quoted_names(text: str) -> list[str]:
    return _subjects_of(match[0] for span in _QUOTED.findall(text) if (match := _CALLABLE.match(span)))


def _subjects_of(names: Iterable[str]) -> list[str]:
    """Return the names that a question may be about: no files and no values."""
    return [name for name in names if not _is_path(name) and name.lower() not in _VALUES]


def _is_code(name: str) -> bool:
    return not name.islower() or query_words.is_code(name)


def names_in(text: str) -> list[str]:
    """Return the names in a text; a plain word that is all of it ("thanks") is none here."""
    question = query_words.read(text)
    return list(question.names) if question.is_symbol or not question.identifier else []


def _is_path(text: str) -> bool:
    return _FILE_NAME.fullmatch(text) is not None and "." in PurePosixPath(text).name


def telling(text: str) -> list[str]:
    """Return the words of a text that say what it is about."""
    return [word for word in query_words.telling_words(text) if word not in _GENERIC]


def _stems(text: str) -> set[str]:
    return {stem(word) for word in telling(text)}


_GENERIC = frozenset(
    """
    ago already always anything ask bit call called calls class current detail details does doing done elaborate else example
    explain file files first function functions here instead it kind kinds latter method module more need new newer now old one
    ones other others part please same second see selected show something take test tested tests then thing things too way work
    works yes
    """.split()  # noqa: SIM905 - a list of words reads best as text
)
"""Words that say what is wanted of a subject, and none themselves."""
