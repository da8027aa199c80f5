"""A tool as the catalogue knows it: what it is for, what it takes, how dangerous it is, and where it is from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

from msgspec import Struct, field

Risk = Literal["safe", "moderate", "dangerous"]
"""safe: reads what Carrel reads anyway; moderate: reads elsewhere, or changes what can be changed back; dangerous: all else."""

RISKS: tuple[Risk, ...] = get_args(Risk)

BUILT_IN = "carrel"
"""The source of the tools that Carrel has itself."""


def higher(first: Risk, second: Risk) -> Risk:
    """Return the higher of two risks."""
    return max(first, second, key=RISKS.index)


class CatalogueTool(Struct, frozen=True, kw_only=True):
    """A tool of a source. Everything in it but `source` and `risk` is what somebody else said, and data."""

    source: str
    name: str
    description: str = ""
    tags: tuple[str, ...] = ()
    risk: Risk = "dangerous"
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    output_schema: Mapping[str, Any] | None = None
    examples: tuple[str, ...] = ()
    only_reads: bool = False  # by its server's word

    @property
    def acts(self) -> bool:
        """Tell whether it may change something, so that the documents' rules come before it; the person's risk counts first."""
        return self.risk == "dangerous" or (self.risk == "moderate" and not self.only_reads)

    @property
    def qualified(self) -> str:
        """Its name among the tools of all sources."""
        return f"{self.source}.{self.name}"

    @property
    def fingerprint(self) -> str:
        """Name everything that a model is told of the tool, and its risk: another text has another fingerprint."""
        data = [self.qualified, self.description, self.schema, self.output_schema, self.risk, self.examples, self.tags]
        return hashlib.sha256(canonical(data).encode("utf-8", "surrogatepass")).hexdigest()


class KeptSource(Struct, frozen=True):
    """A source as it was read. `origin` names the settings that it was read by; `at` is in Unix seconds."""

    origin: str
    at: float
    tools: tuple[CatalogueTool, ...]


class KeptTools(Struct, frozen=True):
    """All that is kept. `approved` are tools as the person saw them, by their qualified names."""

    sources: Mapping[str, KeptSource] = field(default_factory=dict)
    approved: Mapping[str, CatalogueTool] = field(default_factory=dict)


def canonical(value: object) -> str:
    """Return plain data as the one JSON text that stands for it, whatever the order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=list)


class ToolOutput(Struct, frozen=True):
    """Hold what a tool gave: text, and a structured value where it has one."""

    text: str
    value: Any = None
    is_error: bool = False
