"""What the messages of several protocols are built from. Field names are camelCase on the wire."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar

from msgspec import UNSET, Meta, Struct

from carrel.model.structs import fields_of

State = Literal["empty", "indexing", "ready", "error"]


class Wire(Struct, rename="camel", kw_only=True, frozen=True):
    """Base of everything that crosses the wire."""


W = TypeVar("W", bound=Wire)


def encode(kind: type[W], value: object, **more: Any) -> W:
    """Encode a value: its attributes of the fields' names and `more`. What is empty is left out of fields that may be missing."""
    for field in fields_of(kind):
        if field.name not in more and hasattr(value, field.name):
            more[field.name] = getattr(value, field.name)
        if field.default is UNSET and more.get(field.name) in (None, "", ()):
            more[field.name] = UNSET
    return kind(**more)


class Contribution(Wire, kw_only=True, frozen=True):
    """What a rule added to a hit's score, or took from it."""

    rule: str
    share: float


class Boost(Wire, kw_only=True, frozen=True):
    """A rule that moved a hit."""

    rule: str
    factor: float


class DroppedResult(Wire, kw_only=True, frozen=True):
    """A hit or file that was left out, and why."""

    path: str
    start_line: int
    end_line: int
    reason: str


class RouteResult(Wire, kw_only=True, frozen=True):
    """Where a question went."""

    source: str
    query: Annotated[str, Meta(description="What was searched for there.")]
    reason: str


class LastChangeResult(Wire, kw_only=True, frozen=True):
    """The newest commit that changed lines of a hit."""

    sha: str
    author: str
    at: Annotated[str, Meta(description="ISO 8601, UTC.")]
    subject: str


def camel_case(name: str) -> str:
    """Return a Python name, or a path of names joined by dots, as it is spelled on the wire."""
    head, *tail = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in tail)


def iso_time(unix_seconds: float) -> str:
    """Return Unix seconds as ISO 8601 in UTC."""
    return datetime.fromtimestamp(unix_seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
