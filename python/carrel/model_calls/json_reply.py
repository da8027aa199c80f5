"""Find JSON objects in what a model said: it wraps them in prose or a fence, and writes a comma too many."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from carrel.model_calls.model_json import LONGEST, objects, without_trailing_commas


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


def named(found: dict[str, Any] | None) -> dict[str, Any]:
    """Return an object with its keys as `plain_name` gives them."""
    return {plain_name(key): value for key, value in (found or {}).items()}
