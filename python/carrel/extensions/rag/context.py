"""Documents to one text (spec E5): a header and the document, a separator between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from carrel.extensions.rag.config import RAGAgentConfig
from carrel.extensions.rag.documents import FoundDocument, described
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.structs import whole_characters
from carrel.pack.appearance import one_line
from carrel.pack.formats import harmless

MakeSource = Callable[[Any], str]
"""Names where a document is from, given what the store gave."""
BuildContext = Callable[[Sequence[Any]], str]
"""Makes the whole context of documents as the store gave them, best first."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Where the text of document number `number` stands in a context."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Context:
    """A text made of documents."""

    text: str
    shown: tuple[Shown, ...]

    def cut(self, length: int) -> str:
        """Return a beginning of at most so many characters that ends in the text of a document, not in a header."""
        end = 0
        for item in self.shown:
            if not self.text[item.start : min(length, item.end)].strip():
                break
            end = min(length, item.end)
        return self.text[:end]

    def numbers(self, length: int) -> list[int]:
        """Return the numbers of the documents that the beginning of this length shows, wholly or in part."""
        return [item.number for item in self.shown if item.start < length]


def whole(text: str) -> Context:
    """Return a context of which only the text is known."""
    return Context(text, (Shown(0, 0, len(text)),) if text else ())


def build(documents: Sequence[FoundDocument], config: RAGAgentConfig, make_source: MakeSource) -> Context:
    """Put documents in order; those without text are left out.

    What looks like a header or a separator in a document gets a backslash, so that no document can pass for two.
    """
    fmt = config.context_item_header_fmt if config.include_metadata_in_context else None
    text, shown = "", list[Shown]()
    for number, document in enumerate(documents):
        body = harmless(whole_characters(document.text), config.context_separator, fmt).strip("\r\n")
        if not body.strip():
            continue
        text += config.context_separator if text else ""
        text += f"{fmt.replace('{source}', source_name(document.raw, make_source))}\n" if fmt else ""
        shown.append(Shown(number, len(text), len(text) + len(body)))
        text += body
    return Context(text, tuple(shown))


def built(documents: Sequence[FoundDocument], build_context: BuildContext) -> Context:
    """Return the text that `build_context` makes of documents; which of it is whose isn't known. Raises `InvalidInput`."""
    text = whole_characters(_text_of("build_context", build_context, [document.raw for document in documents]))
    return Context(text, tuple(Shown(number, 0, len(text)) for number in range(len(documents))))


def source_name(raw: object, make_source: MakeSource) -> str:
    """Return what `make_source` says of a document, on one line. Raises `InvalidInput` where it fails."""
    return one_line(_text_of("make_source", make_source, raw))


def _text_of(name: str, function: Callable[[Any], str], given: object) -> str:
    """Return the text that a caller's function makes of documents. Raises `InvalidInput` where it fails."""
    try:
        text = function(given)
    except CarrelError:
        raise
    except Exception as error:
        raise InvalidInput(
            name, f"failed for {'documents' if isinstance(given, list) else 'a document'}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(text, str):
        raise InvalidInput(name, f"gave {described(text)}", "Return a text.")
    return text
