"""JSON as chat models write it: in prose, in a fence, with a comma too many. What has one meaning only is mended.

Find JSON objects in what a model said: it wraps them in prose or a fence, and writes a comma too many.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from carrel.model.patterns import lazy_pattern


def best_object(text: str, worth: Callable[[dict[str, Any]], int]) -> dict[str, Any] | None:
    """Return the JSON object of the highest worth; of several the last, since models try and then conclude.

    Where none is worth more than 0, it may be any; None where there is no object.
    """
    best, most = None, 0
    text = text[:LONGEST]
    # A quotation mark in the prose can make a comma look as if it stood outside of strings: first as it is.
    for version in (text, without_trailing_commas(text)):
        for value in objects(version):
            if best is None or worth(value) >= most:
                best, most = value, worth(value)
        if most:
            break
    return best


def plain_name(name: str) -> str:
    """Return a key as `refinedQuery` and `refined_query` both spell it."""
    return re.sub(r"[\W_]", "", name).lower()


def named(data: dict[str, Any] | None) -> dict[str, Any]:
    """Return an object with its keys as `plain_name` gives them."""
    return {plain_name(key): value for key, value in (data or {}).items()}


LONGEST = 200_000
"""Characters of a text that are looked through."""
_MOST_STARTS = 2_000
_MOST_READ = 10 * LONGEST
"""Characters that are parsed, those that are parsed again counted again: a text of unfinished objects would take minutes."""
_MOST_MISSING = 20
_LONGEST_LITERAL = 20_000
# No string begins behind a backslash: a text of `\"` alone would be searched to its end from each of them.
_TRAILING_COMMA = lazy_pattern(r'((?<!\\)"(?:[^"\\]|\\.)*+")|,(?=\s*[}\]])', re.DOTALL)
_FENCE = "```"
_STRING = lazy_pattern(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}


def objects(text: str) -> Iterator[dict[str, Any]]:
    """Give every JSON object in the text, those within others too; line breaks in strings are let through."""
    decoder = json.JSONDecoder(strict=False)
    at, left = text.find("{"), _MOST_READ
    for _ in range(_MOST_STARTS):
        if at < 0 or left <= 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            left -= getattr(error, "pos", len(text)) - at + 1
            end = at + 1
        else:
            yield from _within(value)
        at = text.find("{", end)


def without_trailing_commas(text: str) -> str:
    """Return the text without commas before a closing bracket, but for those in strings."""
    return _TRAILING_COMMA.sub(lambda match: match[1] or "", text)


def parse(text: str) -> Any:
    """Read a text that is nothing but one JSON value, or None where it can't be read in one way only.

    Mended are a fence around it, commas too many, line breaks in strings, Python's spelling, and brackets that are missing at
    the end. A string that isn't closed is not: nobody knows how it would have gone on.
    """
    text = text[:LONGEST].strip()
    if len(text) >= 2 * len(_FENCE) and text.startswith(_FENCE) and text.endswith(_FENCE):
        text = text.removeprefix(_FENCE).removesuffix(_FENCE)
        language = next((at for at, char in enumerate(text) if not (char.isalnum() or char == "_")), len(text))
        text = text[language:].strip()
    for version in (text, without_trailing_commas(text), _closed(text)):
        try:
            return json.loads(version, strict=False, parse_constant=_no_number)
        except (ValueError, RecursionError):
            continue
    if len(text) <= _LONGEST_LITERAL and text[:1] in ("{", "["):
        try:
            value = ast.literal_eval(text)
            json.dumps(value, allow_nan=False)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return None
        return value if isinstance(value, dict | list) else None
    return None


def _closed(text: str) -> str:
    """Return the text with the brackets that are missing at its end."""
    outside = _STRING.sub("", text)
    missing: list[str] = []
    for char in outside:
        if char in _CLOSING:
            missing.append(_CLOSING[char])
        elif char in "}]" and (not missing or missing.pop() != char):
            return text
    if not 0 < len(missing) <= _MOST_MISSING or '"' in outside:
        return text
    return without_trailing_commas(text.rstrip().removesuffix(",") + "".join(reversed(missing)))


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _within(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
        if isinstance(item, dict | list):
            waiting += reversed(list(item.values()) if isinstance(item, dict) else item)
