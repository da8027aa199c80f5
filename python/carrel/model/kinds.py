"""The kinds of documents, and which of them must be converted before they can be indexed; of stores of vectors (docs/stores.md);
of entries of the audit log (docs/audit.md).
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal, get_args

LANGUAGES = ("markdown", "rst", "text", "notebook", "asciidoc", "org")
"""What documents are written in that the core reads itself. Notebooks are code by kind, but people write them for people."""

_READ = (
    *("md", "markdown", "mdx", "mkd", "qmd", "rmd", "rst", "rest"),
    *("txt", "text", "adoc", "asciidoc", "org", "textile", "tex", "ipynb"),
)
_CONVERTED = ("pdf", "docx", "html", "htm", "xhtml")

ONLY_DOCUMENTS = ("*", "!*/", *(f"!*.{suffix}" for suffix in _READ))
"""Ignore patterns that leave nothing but the documents that the core reads itself."""


def suffix_to_convert(path: str) -> str | None:
    """Return the kind of a document that is converted, such as `pdf`; None for any other file."""
    suffix = PurePosixPath(path).suffix[1:].lower()
    return suffix if suffix in _CONVERTED else None


KINDS = ("segments", "lancedb", "qdrant")
"""The kinds that Carrel has; plugins offer more."""
PLUGIN = "store:"
"""Before the kind of a plugin's store, where it is named as a provider: none of Carrel's is called so."""

AuditKind = Literal[
    "context", "repeated", "search", "tool", "tools", "pipeline", "answer", "sent", "permission", "refused", "pruned", "gap"
]
AUDIT_KINDS: tuple[AuditKind, ...] = get_args(AuditKind)
