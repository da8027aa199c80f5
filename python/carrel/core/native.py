"""The only module that imports the compiled core; everyone else imports its names from here."""

from __future__ import annotations

from carrel._core import (
    FORMAT_VERSION,
    Batch,
    CancelToken,
    Candidate,
    ChunkInfo,
    Commit,
    CutOptions,
    Embedder,
    Filter,
    FreshChunk,
    Plan,
    Snapshot,
    Store,
    WalkOptions,
    count_tokens,
    cut_text,
    detect_language,
    hash_bytes,
    languages,
    trim_tokens,
)

__all__ = [
    "FORMAT_VERSION",
    "Batch",
    "CancelToken",
    "Candidate",
    "ChunkInfo",
    "Commit",
    "CutOptions",
    "Embedder",
    "Filter",
    "FreshChunk",
    "Plan",
    "Snapshot",
    "Store",
    "WalkOptions",
    "count_tokens",
    "cut_text",
    "detect_language",
    "hash_bytes",
    "languages",
    "trim_tokens",
]
