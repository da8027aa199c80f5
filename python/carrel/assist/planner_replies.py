"""What a planner's replies may be. A reply is data to search for: bounded, on one line, without control characters."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from carrel.model.lines import lines_of
from carrel.model.patterns import lazy_pattern
from carrel.model.structs import whole_characters
from carrel.model_calls.model_json import best_object, named

LONGEST_QUERY = 400
"""Characters of a query that a planner may write."""
LONGEST_ANSWER = 1_500
"""Characters of a hypothetical answer that are embedded."""
MOST_QUERIES = 4
_LEAST_ANSWER_WORDS = 3

_LABEL = lazy_pattern(
    r"^(?:(?:the|a|rewritten|search|standalone|new|improved|better|final)\s+){0,3}(?:query|question)\s*[:=]\s*", re.IGNORECASE
)
_QUOTES = ('"', "'", "`", "\u201c\u201d", "\u00ab\u00bb", "\u201e\u201c", "**")
_REFUSAL = lazy_pattern(
    r"""^\W*(?:(?:i['\u2019]?m|i\s+am)\s+(?:very\s+|really\s+)?(?:sorry|unable|afraid|not\s+able)
        |sorry\b|my\s+apologies|i\s+apologi[sz]e|unfortunately\b|as\s+an?\s+(?:ai|artificial|(?:large\s+)?language\s+model)
        |i\s+(?:can['\u2019]?t|cannot|can\s+not|won['\u2019]?t|don['\u2019]?t\s+(?:have|know|understand)|need\s+more)\b
        |please\s+(?:provide|clarify|share|specify)|(?:could|can)\s+you\s+(?:please\s+)?(?:provide|clarify|share|specify)
        |(?:es\s+)?tut\s+mir\s+leid|leider\b|entschuldigung|ich\s+kann\b.{0,40}\bnicht\b|je\s+suis\s+d[ée]sol|d[ée]sol[ée]
        |je\s+ne\s+peux|lo\s+siento|no\s+puedo|desculpe|mi\s+dispiace|извините|к\s+сожалению|抱歉|对不起|申し訳|すみません|죄송)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_MUST_STAY = lazy_pattern(
    r"`([^`\s]+)`|(?<!\w)((?=[\w./:-]{0,99}[\d_]|\w{0,99}[a-z]\w{0,99}[A-Z]|\w{1,99}\.[a-z]{2})\w[\w./:-]{1,99})"
)
"""Names, numbers and codes in a question: a rewriting without them asks for something else."""


class UnusableReplyError(ValueError):
    """A reply that no query can be made of; its message ends the sentence "the planner's reply …"."""


def rewritten(reply: str, question: str) -> str:
    """Return the query in a reply to the question."""
    _check_refusal(reply, question)
    lines = [line.strip() for line in lines_of(reply.strip()) if line.strip(" \t`")]
    if len(lines) > 1 and lines[0].endswith(":"):
        del lines[0]
    if len(lines) != 1:
        raise UnusableReplyError("isn't one line")
    query = _query(lines[0])
    _check_names(question, query)
    return query


def sub_queries(reply: str, question: str) -> tuple[str, ...]:
    """Return the queries in a reply, each once; none where the question is about one thing."""
    _check_refusal(reply, question)
    fields = named(best_object(reply, lambda value: len(_texts(named(value).get("queries")))))
    if not isinstance(fields.get("queries"), list):
        raise UnusableReplyError("has no list of queries")
    texts = fields["queries"]
    if len(_texts(texts)) != len(texts):
        raise UnusableReplyError("has queries that are no texts")
    queries = list({query.lower(): query for query in map(_query, texts[:MOST_QUERIES])}.values())
    _check_names(question, " ".join(queries))
    return tuple(queries) if len(queries) > 1 else ()


def hypothetical(reply: str, question: str) -> str:
    """Return the answer in a reply, shortened."""
    _check_refusal(reply, question)
    answer = one_line_of(reply)[:LONGEST_ANSWER].strip()
    if len(re.findall(r"\w+", answer)) < _LEAST_ANSWER_WORDS and len(answer) < 4 * _LEAST_ANSWER_WORDS:
        raise UnusableReplyError("says nothing")
    return answer


def one_line_of(text: str) -> str:
    """Return a text on one line, without characters that control or hide something."""
    spaced = re.sub(r"\s+", " ", whole_characters(text))
    return "".join(char for char in spaced if unicodedata.category(char)[0] != "C").strip()


def _query(text: str) -> str:
    query = one_line_of(text)
    while True:
        bare = _LABEL.sub("", query)
        for pair in _QUOTES:
            first, last = (pair, pair) if pair == "**" else (pair[0], pair[-1])
            if len(bare) > len(first + last) and bare.startswith(first) and bare.endswith(last):
                bare = bare[len(first) : -len(last)].strip()
        if bare == query:
            break
        query = bare
    if len(query) > LONGEST_QUERY:
        raise UnusableReplyError(f"has a query of more than {LONGEST_QUERY} characters")
    if not re.search(r"\w\w|[^\W\d_a-zA-Z]", query) or query.startswith(("{", "[", "<")):
        raise UnusableReplyError("has no query in it")
    return query


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _check_refusal(reply: str, question: str) -> None:
    # People say "I can't log in" themselves.
    if _REFUSAL.match(reply) and not _REFUSAL.match(question):
        raise UnusableReplyError("says that it can't")


def _check_names(question: str, said: str) -> None:
    kept = said.lower()
    for match in _MUST_STAY.finditer(question):
        name = (match[1] or match[2]).rstrip(".:/-")
        if name.lower() not in kept:
            raise UnusableReplyError("leaves out a name or number of the question")
