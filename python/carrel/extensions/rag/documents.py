"""Documents as any store gives them: objects or mappings, alone or in pairs with a score or a distance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from carrel.model.errors import StoreError

TEXT_FIELDS = ("text", "content", "page_content")
_SOURCE_KEYS = ("source", "path", "file_path", "filename", "file_name", "url", "title", "name", "id")


class Document(Struct, frozen=True):
    """A document as Carrel's own adapters give it; any object with a text and metadata will do in its place."""

    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


class FoundDocument(Struct, frozen=True):
    """A document with what was read of it. `raw` is what the store gave, `distance` its score or distance."""

    raw: Any
    text: str
    metadata: Mapping[str, Any]
    distance: float | None = None


def read_documents(answer: object, most: int) -> list[FoundDocument]:
    """Read what a store gave, at most so many. Raises `StoreError` for what isn't a document."""
    if not isinstance(answer, Iterable) or isinstance(answer, str | bytes | Mapping):
        raise StoreError(
            f"The store gave {described(answer)} where documents were due", "Return a list of documents from its search."
        )
    return [_read(item, place) for place, item in zip(range(most), answer, strict=False)]


def read_document(raw: object) -> FoundDocument:
    """Read one document. Raises `StoreError` where it isn't one."""
    text = next((value for name in TEXT_FIELDS if isinstance(value := _get(raw, name), str)), None)
    if text is None:
        raise StoreError(
            f"The store gave {described(raw)}, which is not a document",
            "Give an object or a mapping with the text `text`, `content` or `page_content`.",
        )
    metadata = _get(raw, "metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise StoreError(f"The metadata of a document is {described(metadata)}", "Give a dictionary.")
    return FoundDocument(raw, text, metadata or {})


def source_of_document(document: object) -> str:
    """Name where a document is from: its path and lines, or the first of the usual keys of its metadata."""
    metadata = read_document(document).metadata
    path, first, last = (metadata.get(key) for key in ("path", "start_line", "end_line"))
    if path and first and last:
        return f"{path}:{first}-{last}"
    return next((str(metadata[key]) for key in _SOURCE_KEYS if metadata.get(key)), "unknown")


def finite(value: object) -> float | None:
    """Return a real number, numpy's and others' too, as a float; None for anything else, for NaN and infinities."""
    if isinstance(value, str | bytes | bool) or not hasattr(value, "__float__") or getattr(value, "shape", ()) != ():
        return None
    try:
        number = float(value)
    except OverflowError:  # a whole number that no float holds
        return None
    return number if math.isfinite(number) else None


def described(value: object) -> str:
    """Say what something is, without quoting it."""
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _read(item: object, place: int) -> FoundDocument:
    if not isinstance(item, tuple | list):
        return read_document(item)
    if len(item) != 2:
        raise StoreError(
            f"Result {place} of the store has {len(item)} parts", "Return documents, or pairs of a document and a score."
        )
    raw, score = item
    document = read_document(raw)
    distance = None if score is None else finite(score)
    if score is not None and distance is None:
        shown = repr(score)[:80] if isinstance(score, str | float) else described(score)
        raise StoreError(f"The score of result {place} of the store is {shown}", "Return a finite number, or None.")
    return FoundDocument(document.raw, document.text, document.metadata, distance)


def _get(raw: object, name: str) -> Any:
    return raw.get(name) if isinstance(raw, Mapping) else getattr(raw, name, None)
