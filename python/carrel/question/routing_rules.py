"""Which kinds of sources a question is for, by rules that cost nothing; docs/quality.md has how often they are right.

The workspace is always searched. The rules say what else is worth it: documents of the team for what people do, the history
for what was changed and why. What names code and nothing else stays with the code.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from carrel.model.patterns import lazy_pattern

Target = Literal["code", "documents", "git", "tool"]

_CHANGED = (
    r"(?:chang|add|remov|renam|introduc|replac|delet|dropp|revert|rewrit|rewrote|fix|broke|break|mov|bump|upgrad|downgrad|"
    r"switch|rais|lower|increas|decreas|migrat|split|merg|deprecat|disabl|enabl|landed|touch|modif|made)\w*"
)
_HISTORY = lazy_pattern(
    rf"\bwhy\s+(?:was|were|did|has|have|had)\b.{{0,120}}\b{_CHANGED}"
    rf"|\bwhen\s+(?:was|were|did|has|have)\b.{{0,120}}\b(?:{_CHANGED}|start|stop|appear|go away|disappear|work\s+on)"
    rf"|\bwho\s+(?:wrote|last|originally|first|else\s+)?\s*(?:{_CHANGED}|wrote|committed|authored|worked)"
    r"|\b(?:commits?|blame|git\s+(?:log|history|blame)|changelog|diff\s+since|pull\s+requests?|recent(?:ly)?\s+chang\w+)\b"
    r"|\b(?:history|evolution|origin)\s+of\b|\blast\s+(?:change|changed|modified|touched|week|month|release|sprint)\b"
    rf"|\bwhat\s+(?:has\s+|have\s+|was\s+|were\s+)?(?:{_CHANGED})\b|\bsince\s+when\b|\bregress(?:ion|ed)\b.{{0,60}}\b(?:introduc|appear|cause)"
    r"|\bused\s+to\s+be\b|\bno\s+longer\b.{0,60}\bwhy\b|\bhow\s+long\s+ago\b|\breasons?\s+(?:for|behind|of)\s+(?:the\s+)?(?:chang|remov|renam|revert)\w*",
    re.IGNORECASE,
)
_DOCUMENTS = lazy_pattern(
    r"\b(?:runbooks?|playbooks?|handbook|wiki|polic(?:y|ies)|guidelines?|onboarding|off-?boarding|post-?mortems?|incidents?|outages?|"
    r"escalat\w+|on[\s-]?call|checklists?|adrs?|decision\s+records?|meeting\s+(?:notes|minutes)|roadmap|sla|slo|gdpr|compliance|"
    r"disaster\s+recovery|maintenance\s+windows?|retention|stakeholders?|vendors?|contracts?\s+with|invoices?|vacation|holidays?|expenses?|"
    r"sign-?off|approv(?:e|al|als|es)|audits?|agreements?|faq|glossary|data\s+cent(?:er|re))\b"
    r"|\bmanuals\b|\b(?:in\s+the|our|user|reference|service|operator'?s)\s+manual\b|\bmanual\s+says?\b|\bthe\s+manual\s+say\b"
    r"|\b(?:according\s+to|following|per|as\s+in|by)\s+(?:the\s+|our\s+)?(?:protocols?|docs?|documents?|rules?|process|agreement|standard)"
    r"|\bprotocols?\s+(?:when|if|in\s+case|of\s+the\s+team)\b|\b(?:our|the|a|release|standard)\s+procedures?\b|\bprocedures?\s+(?:to|when|if)\b|\b(?:emergency|recovery|restart|safety|security)\s+protocols?\b"
    r"|\bwhat\s+(?:do|does)\s+(?:the\s+|our\s+)?(?:docs?|documents?|guide|notes?|readme)\s+say"
    r"|\b(?:restart|reboot|fail\s?-?over|roll\s?-?back|rotate|drain|provision|decommission|restore|escalate|page)\s+(?:the\s+|a\s+|an\s+|our\s+)?"
    r"(?:[\w-]+\s+){0,3}(?:servers?|services?|clusters?|databases?|nodes?|hosts?|instances?|backups?|deploy\w*|releases?|certificates?|"
    r"credentials|passwords|keys|production|staging|balancers?|machines?|vpn)\b"
    r"|\bhow\s+(?:do|should|can|must)\s+(?:we|our|a\s+new|new|the\s+team|i\s+(?:request|apply|report|get\s+access|order|book))\b"
    r"|\bwho\s+(?:is|are|must|should|has\s+to|may|can)\s+(?:be\s+)?(?:responsible|in\s+charge|the\s+owner|informed|notified|called|paged|contact\w*|approve|sign)"
    r"|\bwho\s+(?:owns|approves|signs|decides|do\s+(?:i|we))\b|\bwhom?\s+(?:do|should|to)\b"
    r"|\b(?:steps|instructions|process|rules)\s+(?:to|for)\b|\b(?:is|are|am\s+i|are\s+we)\s+(?:it\s+)?allowed\s+to\b|\bwhat\s+to\s+do\s+(?:when|if)\b"
    r"|\b(?:did|have)\s+we\s+(?:decide|agree)\w*|\b(?:we|they|team|board|meeting|what\s+(?:was|were|has\s+been))\s+(?:had\s+|have\s+)?decided\b|\bour\s+(?:process|rules|standards?|conventions?|team)\b",
    re.IGNORECASE,
)
_SPAN = lazy_pattern(
    r"\b(?:last|past|previous)\s+(?:\d+\s+)?(?:seconds?|minutes?|hours?|days?|nights?|weeks?)\b|\bnow\s*\?*$"
    r"|\b(?:right\s+now|at\s+the\s+moment|currently|today|yesterday|tonight|this\s+(?:morning|hour|week))\b",
    re.IGNORECASE,
)
_USAGE = lazy_pattern(
    r"\bhow\s+(?:do|can|could|should|would|might)\s+(?:i|you|one|we|somebody|someone)\b|\bhow\s+to\b"
    r"|\bwhat\s+(?:do|must|should)\s+(?:i|you|one|we)\s+(?:need|have|do|install|set)\b"
    r"|\A\W*(?:can|could|may)\s+(?:i|you|one|we)\b|\bis\s+(?:it\s+possible|there\s+(?:a|any)\s+way)\b",
    re.IGNORECASE,
)
_IDENTIFIER = lazy_pattern(
    r"`[^`]+`|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b|\b(?:[A-Z][a-z0-9]+){2,}\b|\b\w+_\w+\b|\b\w+\(\)"
    r"|\b\w+\.(?:py|rs|ts|js|go|java|c|h|cpp|toml|json|ya?ml)\b"
)
_CODE = lazy_pattern(
    r"\b(?:functions?|methods?|class(?:es)?|modules?|variables?|parameters?|arguments?|implement\w*|imports?|interface|struct|trait|enum|"
    r"exceptions?|stack\s*trace|traceback|unit\s+tests?|tests?\s+for|callers?|call(?:s|ed)\s+by|type\s+hints?|decorators?|constants?|loop|regex|"
    r"codebase|source\s+code|in\s+(?:the\s+)?code|code\s+(?:that|for|which|path)|parsed?|parser|defined|returns?|async|thread|mutex|null)\b",
    re.IGNORECASE,
)


class Choice(Struct, frozen=True):
    """A kind of source that a question is for, and the words that say so."""

    target: Target
    reason: str


def choose(text: str) -> tuple[Choice, ...]:
    """Return the kinds of sources that a question is for, at least one; code where nothing else is meant."""
    beginning = text[:2_000]
    history, documents = _HISTORY.search(beginning), _DOCUMENTS.search(beginning)
    code = _IDENTIFIER.search(beginning) or _CODE.search(beginning)
    choices = []
    if code or not (history or documents):
        choices.append(Choice("code", f"it names code: {_shown(code)}" if code else "nothing in it names another source"))
    if documents:
        choices.append(Choice("documents", f"it asks for what people do: {_shown(documents)}"))
    if history:
        choices.append(Choice("git", f"it asks for changes: {_shown(history)}"))
    return tuple(choices)


def span_of_time(text: str) -> str | None:
    """Return the words for a span of time, or for now, in a question that names no kind of source; None where there are none."""
    beginning = text[:2_000]
    if any(rule.search(beginning) for rule in (_HISTORY, _DOCUMENTS, _IDENTIFIER, _CODE)):
        return None
    match = _SPAN.search(beginning)
    return _shown(match) if match else None


def asks_for_documents(text: str) -> bool:
    """Tell whether a question is for documents as much as for code: for nothing else, or for how to use what names no code."""
    if [choice.target for choice in choose(text)] == ["documents"]:
        return True
    beginning = text[:2_000]
    return bool(_USAGE.search(beginning)) and not (_IDENTIFIER.search(beginning) or _CODE.search(beginning))


def _shown(match: re.Match[str]) -> str:
    return '"' + " ".join(match[0].split())[:60] + '"'
