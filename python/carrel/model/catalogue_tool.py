"""A tool as the catalogue knows it: what it is for, what it takes, how dangerous it is, and where it is from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args
from unicodedata import normalize
from urllib.parse import unquote

Risk = Literal["safe", "moderate", "dangerous"]
"""safe: reads what Carrel reads anyway; moderate: reads elsewhere, or changes what can be changed back; dangerous: all else."""

RISKS: tuple[Risk, ...] = get_args(Risk)

BUILT_IN = "carrel"
"""The source of the tools that Carrel has itself."""


def higher(first: Risk, second: Risk) -> Risk:
    """Return the higher of two risks."""
    return max(first, second, key=RISKS.index)


@dataclass(frozen=True, slots=True)
class HttpParameter:
    """Where an argument goes in a request. `delimiter` joins the items of a list; an empty one repeats the name."""

    argument: str
    name: str
    place: Literal["path", "query", "header"]
    delimiter: str = ""
    deep: bool = False
    """Whether an object's fields are written `name[field]`."""
    fields: tuple[str, ...] | None = None
    """The names that fields of an object may have; None where the document leaves them open."""


@dataclass(frozen=True, slots=True)
class HttpKey:
    """Where a request holds a key. `scheme` is what the document calls it, `form` how it is written: as it is, or as HTTP has it.

    A `basic` key is a user's name and password with a colon between.
    """

    place: Literal["header", "query", "cookie"]
    name: str
    form: Literal["plain", "bearer", "basic"] = "plain"
    scheme: str = ""


@dataclass(frozen=True, slots=True)
class HttpCall:
    """How an operation is asked: a path below the address that the person's settings name, never an address."""

    method: str
    path: str
    parameters: tuple[HttpParameter, ...] = ()
    body: str = ""
    """The argument that is the body; empty for none."""
    body_form: bool = False
    """Whether the body is the fields of a form in place of JSON."""
    body_fields: tuple[str, ...] | None = None
    """The names that fields of a form may have; None where the document leaves them open."""
    keys: tuple[HttpKey, ...] = ()
    """All of them are needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueTool:
    """A tool of a source. Everything in it but `source` and `risk` is what somebody else said, and data."""

    source: str
    name: str
    description: str = ""
    tags: tuple[str, ...] = ()
    risk: Risk = "dangerous"
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    output_schema: Mapping[str, Any] | None = None
    examples: tuple[str, ...] = ()
    call: HttpCall | None = None
    """How it is asked where it is an operation of an HTTP service that can be run."""

    @property
    def qualified(self) -> str:
        """Its name among the tools of all sources."""
        return f"{self.source}.{self.name}"

    @property
    def basis(self) -> str:
        """Name what a person's own word on the risk rests on: what it is taken for by itself, and by which method it is asked."""
        return f"{self.risk} {self.call.method}" if self.call else self.risk

    @property
    def fingerprint(self) -> str:
        """Name everything that a model is told of the tool, its risk and its request: another text has another fingerprint."""
        data: list[Any] = [self.qualified, self.description, self.schema, self.output_schema, self.risk, self.examples, self.tags]
        if self.call is not None:
            data.append(asdict(self.call))
        return hashlib.sha256(canonical(data).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class KeptSource:
    """A source as it was read. `origin` names the settings that it was read by; `at` is in Unix seconds."""

    origin: str
    at: float
    tools: tuple[CatalogueTool, ...]


@dataclass(frozen=True, slots=True)
class KeptTools:
    """All that is kept. `approved` are tools as the person saw them, by their qualified names.

    `rated` has the basis of a risk that the person named for a tool which rests on another by now.
    """

    sources: Mapping[str, KeptSource] = field(default_factory=dict)
    approved: Mapping[str, CatalogueTool] = field(default_factory=dict)
    rated: Mapping[str, str] = field(default_factory=dict)


def same_parameter(first: str, second: str) -> bool:
    """Tell whether a service may read two names of parameters as one: case, signs, encodings and `[…]` count for nothing."""
    return _bare(first) == _bare(second)


def _bare(name: str) -> str:
    whole = normalize("NFKC", unquote(unquote(name))).partition("[")[0]
    return re.sub(r"[\W_]+", "", whole).casefold()


def canonical(value: object) -> str:
    """Return plain data as the one JSON text that stands for it, whatever the order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=list)


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """Hold what a tool gave: text, and a structured value where it has one."""

    text: str
    value: Any = None
    is_error: bool = False
