"""The reviewer's answer: what it must be (spec A7), and how a model's text is read as one.

A model wraps its JSON in prose or a fence, writes "4" for 4 or `difficultyScore` for `difficulty_score`. What has one
meaning only is mended; whatever else is wrong is said in words that the model can act on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from carrel.model.patterns import lazy_pattern
from carrel.model.structs import whole_characters
from carrel.model_calls.json_reply import best_object, named, plain_name

Level = Literal["Junior", "Mid", "Senior", "Senior+"]

FORM = """{
  "summary": "one sentence: what is to be done, and where",
  "difficulty_score": 3,
  "recommended_level": "Junior" or "Mid" or "Senior" or "Senior+",
  "concepts_required": ["what one must know to do it", "..."],
  "mentoring_advice": "how to begin, what to look at (as path:first-last), what to beware of"
}"""
"""The answer as the model is asked for it."""

_SCORE = lazy_pattern(r"\s*([1-5])(?:\.0+)?(?:\s*(?:/|of|out of)\s*5)?\s*", re.IGNORECASE)
_SENTENCE_END = lazy_pattern(r"(?<=\w{3})[.!?](?=\s+[^\Wa-z_])|[\u3002\uff01\uff1f](?=.)")
_LEVELS: dict[str, Level] = {
    "junior": "Junior",
    "mid": "Mid",
    "middle": "Mid",
    "senior": "Senior",
    "senior+": "Senior+",
    "seniorplus": "Senior+",
}


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """What the model says of an issue, checked. `summary` is one sentence."""

    summary: str
    difficulty_score: int
    recommended_level: Level
    concepts_required: tuple[str, ...]
    mentoring_advice: str


def read_answer(text: str) -> tuple[ReviewAnswer | None, str]:
    """Return the answer in a model's text, or None and what is wrong with it."""
    found = best_object(text, _fields_in)
    if found is None:
        return None, "there is no JSON object in it, or one that isn't complete"
    given = named(found)
    values: dict[str, Any] = {}
    problems = []
    for name, read in _FIELDS.items():
        if given.get(plain_name(name)) is None:
            problems.append(f"{name} is missing")
            continue
        value, problem = read(given[plain_name(name)])
        values[name] = value
        if problem:
            problems.append(f"{name} {problem}")
    return (None, "; ".join(problems)) if problems else (ReviewAnswer(**values), "")


def _fields_in(found: dict[str, Any]) -> int:
    return len({plain_name(key) for key in found} & {plain_name(name) for name in _FIELDS})


def _words(value: Any) -> str:
    return whole_characters(value).strip() if isinstance(value, str) else ""


def _summary(value: Any) -> tuple[str, str]:
    text = " ".join(_words(value).split())
    if end := _SENTENCE_END.search(text):
        text = text[: end.end()]
    return text, "" if text else "must be one sentence"


def _score(value: Any) -> tuple[int, str]:
    match = None if isinstance(value, bool) else _SCORE.fullmatch(str(value))
    return (int(match[1]), "") if match else (0, f"must be a whole number from 1 to 5, not {_shown(value)}")


def _level(value: Any) -> tuple[str, str]:
    plain = re.sub(r"[\s_-]|level", "", _words(value).lower())
    level = _LEVELS.get(plain, "")
    return level, "" if level else f"must be Junior, Mid, Senior or Senior+, not {_shown(value)}"


def _concepts(value: Any) -> tuple[tuple[str, ...], str]:
    items = re.split(r"[,;\n]", value) if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        return (), "must be a list of strings"
    return tuple(dict.fromkeys(text for item in items if (text := _words(item)))), ""


def _advice(value: Any) -> tuple[str, str]:
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        value = "\n".join(f"- {item}" for item in value)
    text = _words(value)
    return text, "" if text else "must be a text"


def _shown(value: Any) -> str:
    return json.dumps(value)[:60]


_FIELDS: dict[str, Callable[[Any], tuple[Any, str]]] = {
    "summary": _summary,
    "difficulty_score": _score,
    "recommended_level": _level,
    "concepts_required": _concepts,
    "mentoring_advice": _advice,
}
