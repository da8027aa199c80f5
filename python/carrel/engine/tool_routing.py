"""Questions that a tool answers and no text does: for a value of this moment or of a span of time.

Rules say which questions those are, and which tool fits by words that both have. Only tools that need no more than the question
itself can be asked so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from carrel.core.catalogue_tool import CatalogueTool
from carrel.core.native import split_names, stem
from carrel.engine import query_words

_SPAN = (
    r"\b(?:in|over|for|during|of|since)?\s*(?:the\s+)?(?:last|past|previous)\s+(?:\d+\s+)?(?:seconds?|minutes?|hours?|days?|nights?|weeks?)\b"
    r"|\b(?:right\s+now|at\s+the\s+moment|currently|at\s+present|as\s+of\s+now)\b|\bnow\s*\?*$|\btoday\b|\byesterday\b|\btonight\b|\bthis\s+(?:morning|hour|week)\b"
    r"|\b(?:current|present|live|latest)\s+(?=\w)"
)
_MEASURE = (
    r"\b(?:response\s+times?|latenc(?:y|ies)|throughput|error\s+rates?|errors?\s+per|requests?\s+per|cpu|memory\s+(?:use|usage)|load|uptime|downtime|"
    r"disk\s+(?:space|usage|use)|traffic|queue\s+(?:length|depth|size)|p(?:50|90|95|99)|availability|metrics?|connections?|incidents?|alerts?|"
    r"usage|saturation|capacity|health|status|slow|deployed|running|users?\s+online)\b"
)
_LIVE = re.compile(rf"(?=.*(?:{_SPAN}))(?=.*(?:{_MEASURE}))", re.IGNORECASE | re.DOTALL)
_TIME = re.compile(_SPAN, re.IGNORECASE)
_CODE = re.compile(
    r"`|\w+\(\)|\b(?:function|class|method|code|implement\w*|comput\w+|calculat\w+|commit\w*|changed?|where\s+(?:is|are|do))\b",
    re.IGNORECASE,
)
_LEAST_WORDS = 2
"""How many telling words of the question a tool's text must hold."""


def asks_for_a_value(text: str) -> str | None:
    """Return the words by which a question asks for a value of this moment or of a span of time; None where it doesn't."""
    asked = text[:2_000]
    if not _LIVE.match(asked) or _CODE.search(asked):
        return None
    match = _TIME.search(asked)
    return " ".join(match[0].split()) if match else None


def best_tool(text: str, tools: Sequence[CatalogueTool]) -> CatalogueTool | None:
    """Return the tool that shares most telling words with a question; None where none shares enough."""
    asked = set(query_words.read(text[:2_000]).words)
    scored = [(len(asked & _words(tool)), tool.qualified, tool) for tool in tools if arguments_for(tool, text) is not None]
    score, _, best = max(scored, key=lambda item: (item[0], item[1]), default=(0, "", None))
    return best if score >= _LEAST_WORDS else None


def arguments_for(tool: CatalogueTool, text: str) -> Mapping[str, Any] | None:
    """Return what a tool is called with for a question: nothing, or the question as its one text; None where it needs more."""
    required = tool.schema.get("required", [])
    properties = tool.schema.get("properties", {})
    if not required:
        return {}
    if not isinstance(required, Sequence):  # as in older drafts of JSON Schema
        return None
    if len(required) == 1 and isinstance(required[0], str) and isinstance(properties, Mapping):
        about = properties.get(required[0])
        if isinstance(about, Mapping) and about.get("type") == "string" and not {"enum", "pattern", "format"} & about.keys():
            return {required[0]: text}
    return None


def _words(tool: CatalogueTool) -> set[str]:
    told = " ".join((tool.source, tool.name, tool.description[:1_000], *tool.tags))
    return {stem(word) for word in split_names(told)}
