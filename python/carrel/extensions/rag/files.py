"""Files by the summed scores of their chunks (spec E6), from any store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from carrel.extensions.rag.calls import check_store, embed, similarity_search, text_search
from carrel.extensions.rag.config import check_text, check_whole
from carrel.extensions.rag.documents import FoundDocument
from carrel.model.errors import InvalidInput
from carrel.search.files import group

_FILE_NAMES = ("filename", "path", "file_path", "file_name", "source")
"""Keys that name a file, as stores have them."""


def pick_files(
    embedder: Any,
    store: Any,
    section_query: str,
    candidate_pool_size: int,
    n_files: int,
    file_key: str | Callable[[Any], str],
) -> list[str]:
    """Return the `n_files` best files by the sums of their documents' scores, best first.

    `file_key` is a key of the documents' metadata, "filename" any of the usual ones for a file, or a function of the document.
    Documents without the key don't count. Raises `InvalidInput` where none has it, or where the store gives no scores.
    """
    most = check_whole("candidate_pool_size", candidate_pool_size, 0)
    best = check_whole("n_files", n_files, 0)
    query = check_text("section_query", section_query)
    check_store(store, embedder, "vector_db")
    if not query.strip() or not most:
        return []
    if embedder is None:
        documents = text_search(store, query, most, None, None)
    else:
        [vector] = embed(embedder, [query], normalize=True)
        documents = similarity_search(store, vector, most, None, None)
    named = [(name, document.distance) for document in documents if (name := _file_of(document, file_key))]
    if documents and not named:
        raise InvalidInput("file_key", f"no document that was found has {file_key!r}", "Name a key of their metadata.")
    scored = [(name, score) for name, score in named if score is not None]
    if len(scored) < len(named):
        raise InvalidInput("vector_db", "gives documents without scores, which can't be summed", "Return pairs with a score.")
    return [name for name, _ in group(scored)[:best]]


def _file_of(document: FoundDocument, file_key: str | Callable[[Any], str]) -> str:
    if callable(file_key):
        return file_key(document.raw)
    keys = _FILE_NAMES if file_key == "filename" else (file_key,)
    return next((str(document.metadata[key]) for key in keys if document.metadata.get(key)), "")
