"""The kinds of entries of the audit log; docs/audit.md describes each."""

from __future__ import annotations

from typing import Literal, get_args

Kind = Literal[
    "context", "repeated", "search", "tool", "tools", "pipeline", "answer", "sent", "permission", "refused", "pruned", "gap"
]

KINDS: tuple[Kind, ...] = get_args(Kind)
