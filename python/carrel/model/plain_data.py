"""Look into plain data that anybody may have sent: nothing here raises, whatever it is."""

from __future__ import annotations

import json
from typing import Any


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; None where it is none, or nested too deep."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def inner(value: Any, *path: str | int) -> Any:
    """Return what stands at a path of names and places; None where it leads nowhere."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def as_dict(value: Any) -> dict[str, Any]:
    """Return an object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a list, an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return a text, an empty one for anything else."""
    return value if isinstance(value, str) else ""
