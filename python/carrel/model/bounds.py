"""Numbers that come from outside, with the bounds of each: what is past them is refused where it enters.

Check plain values against types, and say in plain words what is wrong with one.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from carrel.model.errors import InvalidInput

Days = Annotated[float, Meta(gt=0, le=36_500)]
"""An age."""
MOST_LINES = 100_000_000
Line = Annotated[int, Meta(ge=1, le=MOST_LINES)]
"""A line of a file, counted from 1."""
MOST_WHOLE = 2**53 - 1
"""The largest whole number of JavaScript, by which some editors name the end of a line or of a file."""
EditorLine = Annotated[int, Meta(ge=0, le=MOST_WHOLE)]
"""A line as LSP counts it, from 0."""
Character = Annotated[int, Meta(ge=0, le=MOST_WHOLE)]
"""A place in a line."""
Amount = Annotated[int, Meta(ge=1, le=1_000_000_000)]
"""Tokens or characters."""
Milliseconds = Annotated[int, Meta(ge=1, le=86_400_000)]
"""A day at most."""
MOST = 1_000_000_000
"""Of a setting that needs no other bound: nothing that is counted, paid or waited for reaches it."""


# A `msgspec.ValidationError` has nothing but its text, which ends in the path of the field: the one text that is taken apart.
_CHOICE = "Invalid enum value "
_NAMES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "nothing",
}
_GOT = {**_NAMES, "float": "a fraction"}
_NUMBERS = {">=": "{} or more", ">": "above {}", "<=": "{} at most", "<": "below {}"}
_LENGTHS = {">=": "at least {}", "<=": "at most {}", "": "{}"}


def checked(field: str, value: object, hint: Any) -> Any:
    """Return the value, converted where that loses nothing; raises `InvalidInput` with the field unless it is of the type."""
    if hasattr(value, "__index__") and not isinstance(value, bool | int):
        value = operator.index(value)  # a number of another library
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        where, reason = plain_reason(error)
        raise InvalidInput(f"{field}{where}", reason) from None


def plain_reason(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return the path of the field below what was checked (`.a[0]`, or nothing), and what is wrong with it."""
    what, at, place = str(error).rpartition(" - at ")
    if not at or not place.endswith("`"):
        what, place = str(error), ""
    where = place.rpartition("`$")[2].removesuffix("`").replace("[...]", "")  # the value of some key
    _, missing, name = what.partition("missing required field `")
    if missing:
        return f"{where}.{name.rstrip('`')}", "is missing"
    return where, _plain(what)


def _plain(what: str) -> str:
    match what.split("`"):
        case ["Expected ", wanted, ", got ", held, ""]:
            expected = [name for name in wanted.split(" | ") if name != "null"] or ["null"]
            return f"must be {' or '.join(_NAMES.get(name, name) for name in expected)}, not {_GOT.get(held, held)}"
        case ["Object contains unknown field ", name, ""]:
            return f"there is no field {name}"
        case ["Expected ", "int" | "float", bound] if (words := bound.split())[:1] and words[0] in _NUMBERS:
            number = float(words[1])
            return f"must be {_NUMBERS[words[0]].format(f'{number:,.0f}' if number.is_integer() else words[1])}"
        case ["Expected ", kind, bound] if bound.startswith(" of length "):
            *sign, length = bound.removeprefix(" of length ").partition(",")[0].split()
            return _length(kind, "".join(sign), int(length))
    if what.startswith(_CHOICE):
        return f"can't be {what.removeprefix(_CHOICE)}: that is none of the possible values"
    return "is out of every range" if what == "Number out of range" else what


def _length(kind: str, sign: str, length: int) -> str:
    if (sign, length) == (">=", 1):
        return "must not be empty"
    unit = "character" if kind == "str" else "entry"
    units = unit if length == 1 else {"character": "characters", "entry": "entries"}[unit]
    return f"must have {_LENGTHS[sign].format(f'{length:,}')} {units}"
