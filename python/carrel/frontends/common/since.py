"""Read a time in the past as people write it: `30m`, `12h`, `7d`, or a date."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from carrel.model.errors import InvalidInput

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def since(text: str, now: float) -> float:
    """Return Unix seconds. Raises `InvalidInput`."""
    if span := re.fullmatch(r"(\d{1,6})\s*([smhdw])", text.strip()):
        return now - int(span[1]) * _SECONDS[span[2]]
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(
            "since", f"{text!r} is no time", "Give a span such as `12h` or `7d`, or a date such as 2026-01-31."
        ) from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
