"""Find JSON objects in what a model said: it wraps them in prose or a fence, and writes a comma too many."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

LONGEST = 200_000
"""Characters of a text that are looked through."""
_MOST_STARTS = 2_000
_MOST_READ = 10 * LONGEST
"""Characters that are parsed, those that are parsed again counted again: a text of unfinished objects would take minutes."""
# No string begins behind a backslash: a text of `\"` alone would be searched to its end from each of them.
_TRAILING_COMMA = re.compile(r'((?<!\\)"(?:[^"\\]|\\.)*+")|,(?=\s*[}\]])', re.DOTALL)


def best_object(text: str, worth: Callable[[dict[str, Any]], int]) -> dict[str, Any] | None:
    """Return the JSON object of the highest worth; of several the last, since models try and then conclude.

    Where none is worth more than 0, it may be any; None where there is no object.
    """
    best, most = None, 0
    text = text[:LONGEST]
    # A quotation mark in the prose can make a comma look as if it stood outside of strings: first as it is.
    for version in (text, _TRAILING_COMMA.sub(lambda match: match[1] or "", text)):
        for value in _objects(version):
            if best is None or worth(value) >= most:
                best, most = value, worth(value)
        if most:
            break
    return best


def plain_name(name: str) -> str:
    """Return a key as `refinedQuery` and `refined_query` both spell it."""
    return re.sub(r"[\W_]", "", name).lower()


def named(found: dict[str, Any] | None) -> dict[str, Any]:
    """Return an object with its keys as `plain_name` gives them."""
    return {plain_name(key): value for key, value in (found or {}).items()}


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object in the text, those within others too; line breaks in strings are let through."""
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


def _within(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
        if isinstance(item, dict | list):
            waiting += reversed(list(item.values()) if isinstance(item, dict) else item)
