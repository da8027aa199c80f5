"""The kinds of entries of the audit log; docs/audit.md describes each."""

from __future__ import annotations

KINDS = ("context", "search", "tool", "tools", "pipeline", "answer", "sent", "permission", "refused", "pruned", "gap")
