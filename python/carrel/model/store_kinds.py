"""The kinds of stores of vectors; docs/stores.md describes each."""

from __future__ import annotations

KINDS = ("segments", "lancedb", "qdrant")
"""The kinds that Carrel has; plugins offer more."""
PLUGIN = "store:"
"""Before the kind of a plugin's store, where it is named as a provider: none of Carrel's is called so."""
